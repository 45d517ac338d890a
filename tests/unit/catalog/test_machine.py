"""The machine as the rows see it: each figure from the best that tells it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envbuilder.catalog.advise.advice import requested_range, requested_release
from envbuilder.catalog.machine import Host, HostGpu, gpu_asked, model_named
from envbuilder.core.errors import UsageError
from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.facts import NOT_ASKED
from envbuilder.diagnostics.facts.host import SmiGpu
from envbuilder.diagnostics.facts.machine import host_of
from tests.fakes.catalogs import real_catalog
from tests.unit.diagnostics.host.machines import (
    GIB,
    NO_LIBCUDA,
    NO_NVML,
    facts,
    gpu,
    host,
    interface,
    machine,
    nvml,
    without_driver,
)

SHOWN = SmiGpu(name="Tesla T4", driver=Release("535.183.01"), memory=15 * GIB, free=14 * GIB, capability=Release("7.5"))
SMI = (SHOWN,)


def test_a_sound_machine_is_told_by_the_management_library() -> None:
    seen = host_of(facts())

    assert seen == Host(
        name="this host",
        driver=Release("550.54.15"),
        library=Release("550.54.15"),
        cuda=Release("12.4"),
        gpus=(HostGpu(name="NVIDIA A100-SXM4-40GB", capability=Release("8.0"), memory=40 * GIB, free=40 * GIB),),
        machine="x86_64",
        glibc=seen.glibc,
        avx=True,
        fma=True,
        memory=64 * GIB,
        shm=32 * GIB,
    )
    assert seen.glibc is not None


def test_it_is_called_as_asked() -> None:
    assert host_of(facts(), "node 7").name == "node 7"


def test_without_the_management_library_the_driver_tells() -> None:
    seen = host_of(facts(nvml=NO_NVML))
    assert seen.gpus == (HostGpu(name="NVIDIA A100-SXM4-40GB", capability=Release("8.0"), memory=40 * GIB),)


def test_nvidia_smi_tells_last() -> None:
    seen = host_of(facts(nvml=NO_NVML, interface=NO_LIBCUDA, module=None, library=None, host=host(smi=SMI)))

    assert seen.driver == Release("535.183.01")
    assert seen.gpus == (HostGpu(name="Tesla T4", capability=Release("7.5"), memory=15 * GIB, free=14 * GIB),)


def test_the_release_of_the_module_goes_before_those_of_the_libraries() -> None:
    assert host_of(facts(module="535.104.05")).driver == Release("535.104.05")
    assert host_of(facts(module=None, library=None)).driver == Release("550.54.15")


def test_no_driver_is_no_gpu_and_a_driver_that_fails_is_unknown() -> None:
    assert host_of(without_driver().facts).gpus == ()
    assert host_of(facts(nvml=NO_NVML, interface=interface(init_code=999, gpus=()))).gpus is None


def test_a_driver_that_sees_no_device_has_none_unless_it_is_told_to_hide_them() -> None:
    none = interface(init_code=100, gpus=())
    hidden = host(variables=(("CUDA_VISIBLE_DEVICES", ""),))
    assert host_of(facts(nvml=NO_NVML, interface=none)).gpus == ()
    assert host_of(facts(nvml=NO_NVML, interface=none, host=hidden)).gpus is None


def test_a_stub_is_no_driver() -> None:
    stub = interface(stub=True, init_code=34, gpus=())
    assert host_of(facts(nvml=NO_NVML, interface=stub, module=None, library=None)).gpus == ()


def test_the_limit_of_the_control_group_bounds_the_memory() -> None:
    assert host_of(facts(machine=machine(memory_limit=4 * GIB))).memory == 4 * GIB
    assert host_of(facts(machine=machine(memory=None, memory_limit=4 * GIB))).memory == 4 * GIB
    assert host_of(facts(machine=machine(memory=None))).memory is None


def test_a_gpu_that_does_not_answer_is_there_and_unknown() -> None:
    lost = nvml(gpu(name=None, capability=None, memory=None, errors=(("handle", "15 GPU is lost"),)))
    assert host_of(facts(nvml=lost)).gpus == (HostGpu(name="", capability=None),)


def test_what_nobody_looked_at_is_unknown() -> None:
    blind = replace(facts(), machine=NOT_ASKED, interpreter=NOT_ASKED, driver=NOT_ASKED, nvml=NOT_ASKED, host=NOT_ASKED)
    assert host_of(blind) == Host(name="this host")


FACTS = real_catalog().cuda
NAMES = {
    "K80": "3.7",
    "Tesla K40m": "3.5",
    "GeForce GTX TITAN X": "5.2",
    "NVIDIA TITAN X (Pascal)": "6.1",
    "Tesla P100-PCIE-16GB": "6.0",
    "1080ti": "6.1",
    "GTX 1080 Ti": "6.1",
    "v100": "7.0",
    "Tesla V100-SXM2-32GB": "7.0",
    "NVIDIA TITAN RTX": "7.5",
    "Quadro RTX 6000": "7.5",
    "T4": "7.5",
    "RTX2080": "7.5",
    "A100": "8.0",
    "NVIDIA A100 80GB PCIe": "8.0",
    "RTX 3090": "8.6",
    "NVIDIA GeForce RTX 3090 Ti": "8.6",
    "rtx-3080": "8.6",
    "3070": "8.6",
    "NVIDIA RTX A6000": "8.6",
    "NVIDIA A10G": "8.6",
    "NVIDIA RTX 6000 Ada Generation": "8.9",
    "L40S": "8.9",
    "RTX 4090": "8.9",
    "NVIDIA H100 80GB HBM3": "9.0",
    "NVIDIA H200": "9.0",
    "B200": "10.0",
    "RTX 5090": "12.0",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "12.0",
    "8.6": "8.6",
    "sm_86": "8.6",
    "10.3": "10.3",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_gpu_is_known_by_its_name_or_by_its_compute_capability(name: str) -> None:
    assert str(gpu_asked(FACTS, name).capability) == NAMES[name]


@pytest.mark.parametrize("name", ["K90", "RTX 3091", "A1000000", "", "RTX", "8"])
def test_a_name_that_nobody_knows_is_asked_for_again(name: str) -> None:
    assert model_named(FACTS, name) is None
    with pytest.raises(UsageError) as caught:
        gpu_asked(FACTS, name)
    assert "8.6" in caught.value.hint


def test_every_name_in_the_catalog_leads_to_its_own_entry() -> None:
    for model in FACTS.gpus:
        assert model.names, model.name
        first = model.name.split(" / ")[0]
        if "xx" not in first and "-" not in first:
            found = model_named(FACTS, first)
            assert found is not None, first
            assert found.capability == model.capability


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("2.4", "2.4.4", "2.5.0"),
        ("2.4.x", "2.4.0", "2.3.4"),
        ("2.4.1", "2.4.1", "2.4.2"),
        ("2", "2.21.0", "1.15.5"),
        (" >= 2.4 , < 2.6 ", "2.5.3", "2.6.0"),
        ("~=2.4", "2.9.1", "3.0"),
    ],
)
def test_a_range_is_read_as_people_write_it(text: str, inside: str, outside: str) -> None:
    from packaging.version import Version  # noqa: PLC0415  only here

    asked = requested_range(text, "TensorFlow")
    assert Version(inside) in asked
    assert Version(outside) not in asked


@pytest.mark.parametrize("text", ["two", "=>2.4", "2.4..1", ">="])
def test_what_is_no_range_is_an_error_with_an_example(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        requested_range(text, "TensorFlow")
    assert "2.4" in caught.value.hint


def test_a_driver_may_be_written_with_its_letter() -> None:
    assert str(requested_release("R450", "the driver")) == "450"
    with pytest.raises(UsageError):
        requested_release("latest", "the driver")

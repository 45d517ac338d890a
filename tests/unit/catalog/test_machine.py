"""The machine as the rows see it: each figure from the best that tells it."""

from __future__ import annotations

from dataclasses import replace

from envbuilder.catalog.machine import Host, HostGpu
from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.facts import NOT_ASKED
from envbuilder.diagnostics.facts.host import Smi, SmiGpu
from envbuilder.diagnostics.facts.machine import host_of
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
SMI = Smi(path="/usr/bin/nvidia-smi", status=0, said=(), gpus=(SHOWN,))


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

"""The one judge of compatibility: verdicts derived by hand, laws, and what must not depend on what."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.catalog.buildable import Inventory
from envbuilder.catalog.compatibility import judge
from envbuilder.catalog.environments import Environment
from envbuilder.catalog.gpus import GpuModel
from envbuilder.catalog.machine import Host, HostGpu
from envbuilder.catalog.verdicts import Compatibility, Fit, Rule
from envbuilder.core.versions import Release
from envbuilder.diagnostics.host.table import examine_machine
from tests.fakes.catalogs import real_catalog, real_row
from tests.fakes.verdicts import judge_environment
from tests.unit.diagnostics.host.machines import around, view, without_driver

CATALOG = real_catalog()
NEW = "580.95.05"


def host(*gpus: str, driver: str | None = NEW, **changes: object) -> Host:
    """A sound machine; a GPU is named by its compute capability, or by its name."""
    seen = tuple(
        HostGpu(name=f"GPU of {each}", capability=Release(each))
        if each[0].isdigit()
        else HostGpu(name=each, capability=None)
        for each in gpus
    )
    sound = Host(
        name="", driver=Release(driver) if driver else None, gpus=seen, machine="x86_64", glibc=Release("2.36"),
        avx=True, fma=True,
    )  # fmt: skip
    return replace(sound, **changes)  # type: ignore[arg-type]


def judged(row: str, machine: Host, base: str = "") -> Compatibility:
    environment = real_row(row)
    if not base:
        return judge_environment(CATALOG.cuda, environment, machine)
    choice = next(each for each in environment.bases if each.system.id == base)
    return judge(CATALOG.cuda, environment, choice, machine)


# Environment, machine, verdict, part of the deciding reason.
# Source: the GPU code of the wheels in the catalog, and NVIDIA's tables of drivers; derived by hand 2026-11-22.
CASES: list[tuple[str, Host, Fit, str]] = [
    ("tf-2.15-cuda12.2", host("7.0"), Fit.FITS, "machine code for all kernels"),
    ("tf-2.15-cuda12.2", host("8.0"), Fit.JIT, "compiles its mlir kernels on first use"),
    ("tf-2.15-cuda12.2", host("3.7"), Fit.NO, "dropped this GPU"),
    ("tf-2.15-cuda12.2", host("7.0", driver="470.57.02"), Fit.NO, "470.57.02 is too old: it needs 525.60.13"),
    ("tf-2.15-cuda12.2", host("7.0", driver="525"), Fit.UNKNOWN, "whether driver 525 is that new is not known"),
    ("tf-2.15-cuda12.2", host("7.0", driver="590.44.01"), Fit.NO, "590.44.01 no longer supports Volta"),
    ("tf-2.4-cuda11.0", host("3.7", driver="495.29.05"), Fit.NO, "branch 470 is the last that does"),
    ("tf-2.20-cuda12.5", host("9.0", driver="550.54.15"), Fit.NO, "needs 555.42.02, the first that compiles the PTX"),
    ("tf-2.15-cuda12.2", host("7.0", driver=None), Fit.UNKNOWN, "the driver is not known"),
    ("tf-2.15-cuda12.2", host("7.0", driver=None, cuda=Release("12.4")), Fit.FITS, "machine code"),
    ("tf-2.15-cuda12.2", host("7.0", driver=None, cuda=Release("11.4")), Fit.NO, "supports CUDA 11.4 at most"),
    ("tf-2.15-cuda12.2", host("7.0", driver=None, cuda=Release("12.0")), Fit.FITS, "machine code"),
    ("tf-2.4-cuda11.0", host("7.0", driver=None, cuda=Release("11.0")), Fit.UNKNOWN, "CUDA 11.0, is that new"),
    ("tf-2.20-cuda12.5", host("9.0", driver=None, cuda=Release("12.7")), Fit.JIT, "on first use"),
    ("tf-2.15-cuda12.2", host("8.7"), Fit.UNKNOWN, "the catalog has no data for this GPU"),
    ("tf-2.15-cuda12.2", host("Voodoo 5"), Fit.UNKNOWN, "the compute capability of Voodoo 5 is not known"),
    ("tf-2.15-cuda12.2", host("Voodoo 5", driver="470.57.02"), Fit.NO, "470.57.02 is too old"),
    ("tf-2.15-cuda12.2", host(), Fit.CPU_ONLY, "there is no GPU"),
    ("tf-2.15-cuda12.2", host(gpus=None), Fit.UNKNOWN, "the GPUs are not known"),
    ("tf-2.15-cuda12.2", host(gpus=None, driver="470.57.02"), Fit.NO, "470.57.02 is too old"),
    ("tf-1.12-cuda9.0", host(driver=None), Fit.NO, "libcuda.so.1"),
    ("tf-1.12-cuda9.0", host(driver="550.54.15"), Fit.CPU_ONLY, "there is no GPU"),
    ("tf-1.14-cuda10.0", host(driver=None), Fit.CPU_ONLY, "there is no GPU"),
    ("tf-1.15-cuda10.0", host("9.0"), Fit.UNKNOWN, "older than this GPU"),
    ("tf-2.15-cpu", host(avx=False), Fit.NO, "SIGILL"),
    ("tf-2.15-cpu", host(avx=None), Fit.CPU_ONLY, "a CPU environment"),
    ("tf-1.4-cpu", host(avx=False), Fit.CPU_ONLY, "a CPU environment"),
    ("tf-2.15-cpu", host("8.0"), Fit.CPU_ONLY, "a CPU environment"),
    ("tf-2.15-cpu", host(machine="aarch64"), Fit.NO, "aarch64"),
    ("tf-2.21-cuda12.5", host("NVIDIA GH200 480GB", machine=None), Fit.NO, "aarch64"),
    ("tf-2.21-cuda12.5", host("NVIDIA H100 PCIe", machine=None), Fit.JIT, "on first use"),
    # Contradictions of the two judges before this one: users.md D10, house.md 4.1.
    ("tf-2.12-cuda11.8", host("Tesla V100-SXM2-16GB", driver="450.51.06"), Fit.FITS, "machine code"),
    ("tf-2.12-cuda11.8", host("TITAN V", driver="450.51.06"), Fit.NO, "450.51.06 is too old: it needs 450.80.02"),
    ("tf-2.12-cuda11.8", host("NVIDIA H100 PCIe", driver="450.80.02"), Fit.NO, "the first that knows Hopper"),
    ("tf-2.12-cuda11.8", host("NVIDIA H100 PCIe", driver="470.57.02"), Fit.NO, "the first that knows Hopper"),
    ("tf-2.12-cuda11.8", host("NVIDIA H100 PCIe", driver="520.61.05"), Fit.JIT, "on first use"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "machine", "fit", "says"), CASES, ids=[f"{case[0]}-{case[3][:24]}" for case in CASES])
def test_an_environment_gets_its_verdict_with_the_reason(row: str, machine: Host, fit: Fit, says: str) -> None:
    verdict = judged(row, machine)

    assert verdict.fit is fit
    assert says in "; ".join(reason.text for reason in verdict.deciding)


def test_forward_compatibility_is_for_nvidias_images_only_and_is_a_caveat() -> None:
    machine = host("Tesla V100-SXM2-16GB", driver="450.51.06")
    inside = judged("tf-2.12-cuda11.8", machine, "nvidia-cuda-11.8.0-cudnn8")

    assert inside.fit is Fit.FITS
    assert [caveat.rule for caveat in inside.caveats] == [Rule.FORWARD_COMPATIBILITY]
    assert inside.caveats[0].sources
    assert judged("tf-2.12-cuda11.8", machine, "debian-bookworm").fit is Fit.NO


def test_forward_compatibility_compiles_ptx_with_the_driver_library_of_the_image() -> None:
    machine = host("NVIDIA H100 PCIe", driver="535.104.05")
    assert judged("tf-2.20-cuda12.5", machine, "nvidia-cuda-12.6.3-cudnn9").fit is Fit.JIT
    assert judged("tf-2.20-cuda12.5", machine, "debian-bookworm").fit is Fit.NO
    consumer = host("NVIDIA GeForce RTX 4090", driver="535.104.05")
    assert judged("tf-2.20-cuda12.5", consumer, "nvidia-cuda-12.6.3-cudnn9").fit is Fit.FITS


def test_a_driver_library_that_stands_before_an_older_kernel_module_is_what_programs_reach() -> None:
    machine = host("NVIDIA A100-SXM4-40GB", driver="470.82.01", library=Release("575.57.08"))
    verdict = judged("tf-2.20-cuda12.5", machine, "debian-bookworm")
    assert verdict.fit is Fit.FITS
    assert "libcuda 575.57.08 is used with the older kernel module 470.82.01" in verdict.caveats[0].text
    consumer = host("NVIDIA GeForce RTX 3090", driver="470.82.01", library=Release("575.57.08"))
    assert judged("tf-2.20-cuda12.5", consumer, "debian-bookworm").fit is Fit.UNKNOWN
    # The kernel module must know the GPU, whichever library stands before it.
    hopper = host("NVIDIA H100 PCIe", driver="470.82.01", library=Release("575.57.08"))
    assert judged("tf-2.20-cuda12.5", hopper, "debian-bookworm").fit is Fit.NO


def test_a_driver_that_is_too_old_is_told_how_old_it_may_be() -> None:
    verdict = judged("tf-2.15-cuda12.2", host("7.0", driver="470.57.02"))
    assert verdict.driver is not None
    assert verdict.driver.least == Release("525.60.13")
    assert verdict.changes == ("update the driver to 525.60.13 or later",)


def test_the_best_gpu_decides_and_the_others_are_caveats() -> None:
    verdict = judged("tf-2.15-cuda12.2", host("7.0", "3.7"))

    assert verdict.fit is Fit.FITS
    assert [gpu.fit for gpu in verdict.gpus] == [Fit.FITS, Fit.NO]
    other = next(caveat for caveat in verdict.caveats if caveat.rule is Rule.OTHER_GPU)
    assert "GPU of 3.7 (3.7) is less suitable (does-not-fit)" in other.text
    assert "CUDA_VISIBLE_DEVICES" in other.text


def test_gpus_of_one_kind_are_one_entry() -> None:
    assert len(judged("tf-2.15-cuda12.2", host("7.0", "7.0")).gpus) == 1


def test_the_base_that_fits_best_is_named() -> None:
    kepler = judged("tf-2.12-cuda11.8", host("Tesla K80", driver="470.256.02"))
    assert (kepler.fit, kepler.base) == (Fit.FITS, "debian-bookworm")


def test_the_c_library_of_the_host_matters_without_a_container_only() -> None:
    old = judged("tf-2.15-cpu", host(glibc=Release("2.5")))
    assert (old.fit, old.bare) == (
        Fit.CPU_ONLY,
        f"needs glibc {real_row('tf-2.15-cpu').framework.glibc}, this host has 2.5",
    )
    assert judged("tf-2.15-cpu", host()).bare == ""
    assert judged("tf-2.15-cpu", host(glibc=None)).bare == ""


@pytest.mark.parametrize("row", CATALOG.environments, ids=lambda row: row.id)
def test_every_environment_has_a_verdict_with_reasons_on_every_gpu_of_the_catalog(row: Environment) -> None:
    for gpu in CATALOG.cuda.gpus:
        verdict = judge_environment(CATALOG.cuda, row, host(str(gpu.capability)))
        assert verdict.deciding
        assert all(reason.change for reason in verdict.reasons if reason.fit is Fit.NO)
        assert verdict.base


@given(
    st.sampled_from(CATALOG.environments), st.sampled_from(CATALOG.cuda.gpus), st.sampled_from(CATALOG.cuda.releases)
)
def test_a_newer_driver_never_fits_worse_unless_it_dropped_the_gpu(
    row: Environment, gpu: GpuModel, release: object
) -> None:
    order = list(Fit)
    older = judge_environment(CATALOG.cuda, row, host(str(gpu.capability), driver=str(release.driver)))  # type: ignore[attr-defined]
    last = f"{gpu.last_driver}.999" if gpu.last_driver else "9999.0"
    newest = judge_environment(CATALOG.cuda, row, host(str(gpu.capability), driver=last))
    assert order.index(newest.fit) <= order.index(older.fit)


@given(
    st.sampled_from(CATALOG.environments), st.sampled_from(CATALOG.cuda.gpus), st.sampled_from(CATALOG.cuda.releases)
)
def test_knowing_less_of_a_machine_never_turns_a_no_into_a_yes(
    row: Environment, gpu: GpuModel, release: object
) -> None:
    names = [name for name in ("Tesla K80", "Tesla V100", "NVIDIA A100", "NVIDIA H100") if gpu.data_center]
    for name in (str(gpu.capability), *names):
        whole = host(name, driver=str(release.driver))  # type: ignore[attr-defined]
        check_less(row, whole)


def check_less(row: Environment, whole: Host) -> None:
    verdict = judge_environment(CATALOG.cuda, row, whole)
    for less in (replace(whole, driver=None), replace(whole, gpus=None)):
        fit = judge_environment(CATALOG.cuda, row, less).fit
        assert fit in {Fit.UNKNOWN, Fit.NO} or row.cuda is None
        assert fit is not Fit.NO or verdict.fit is Fit.NO


def test_what_is_not_known_never_fits() -> None:
    unknown = Host(name="nobody looked")
    verdicts = [judge_environment(CATALOG.cuda, row, unknown) for row in CATALOG.environments]
    assert {verdict.fit for verdict in verdicts} == {Fit.UNKNOWN, Fit.CPU_ONLY}
    assert all(each.environment.endswith("-cpu") for each in verdicts if each.fit is Fit.CPU_ONLY)


def test_the_whole_examination_is_in_the_order_of_the_catalog() -> None:
    whole = examine_machine(CATALOG, view().facts, around(), Inventory())
    assert [each.compatibility.environment for each in whole.environments] == [row.id for row in CATALOG.environments]
    assert not whole.has_problems
    assert {each.compatibility.fit for each in whole.environments} >= {Fit.FITS, Fit.JIT, Fit.CPU_ONLY}


def test_a_machine_without_gpu_runs_the_cpu_environments() -> None:
    whole = examine_machine(CATALOG, without_driver().facts, None, Inventory())
    assert not whole.has_problems
    assert {each.compatibility.fit for each in whole.environments} == {Fit.CPU_ONLY, Fit.NO}

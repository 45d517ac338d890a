"""Which rows of the catalog run on which machine, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.examining.rows import judge_row, judge_rows
from envbuilder.examining.table import examine_machine
from envbuilder.model.examinations import Fit, RowFit
from envbuilder.model.hosts import Host, HostGpu
from envbuilder.model.versions import Release
from tests.fakes.catalogs import real_catalog, real_row
from tests.unit.examining.machines import around, view, without_driver

CATALOG = real_catalog()
NEW = "590.44.01"


def host(*capabilities: str, driver: str | None = NEW, **changes: object) -> Host:
    gpus = tuple(HostGpu(name=f"GPU of {each}", capability=Release(each)) for each in capabilities)
    sound = Host(
        name="here", driver=Release(driver) if driver else None, gpus=gpus, machine="x86_64", glibc=Release("2.36"),
        avx=True, fma=True,
    )  # fmt: skip
    return replace(sound, **changes)  # type: ignore[arg-type]


def judged(row: str, machine: Host) -> RowFit:
    return judge_row(CATALOG.cuda, real_row(row), machine)


# Row, machine, answer, what the reason says.
# Source: the GPU code of the wheels in the catalog, and NVIDIA's table of drivers; derived by hand 2026-11-21.
CASES: list[tuple[str, Host, Fit, str]] = [
    ("tf-2.15-cuda12.2", host("7.0"), Fit.RUNS, "machine code for 7.0"),
    ("tf-2.15-cuda12.2", host("8.0"), Fit.JIT, "which the driver compiles on first use"),
    ("tf-2.15-cuda12.2", host("3.7"), Fit.NO, "dropped this GPU"),
    ("tf-2.15-cuda12.2", host("7.0", driver="470.57.02"), Fit.NO, "needs driver 525.60.13 or newer, this is 470.57.02"),
    ("tf-2.20-cuda12.5", host("9.0", driver="550.54.15"), Fit.NO, "newer, this is 550.54.15, to compile its PTX"),
    ("tf-2.15-cuda12.2", host("7.0", driver=None), Fit.UNPROVEN, "the driver's release is not known"),
    ("tf-2.15-cuda12.2", host("7.0", driver=None, cuda=Release("12.4")), Fit.RUNS, "machine code"),
    ("tf-2.15-cuda12.2", host("7.0", driver=None, cuda=Release("11.4")), Fit.NO, "this one supports CUDA 11.4 at most"),
    ("tf-2.15-cuda12.2", host("7.0", driver=None, cuda=Release("12.0")), Fit.UNPROVEN, "CUDA 12.0"),
    ("tf-2.15-cuda12.2", host("8.7"), Fit.UNPROVEN, "compute capability 8.7 is not known to the catalog"),
    ("tf-2.15-cuda12.2", host(), Fit.CPU_ONLY, "no usable GPU"),
    ("tf-2.15-cuda12.2", host(gpus=None), Fit.UNPROVEN, "could not be seen"),
    ("tf-1.12-cuda9.0", host(driver=None), Fit.NO, "libcuda.so.1"),
    ("tf-1.12-cuda9.0", host(driver="550.54.15"), Fit.CPU_ONLY, "no usable GPU"),
    ("tf-1.14-cuda10.0", host(driver=None), Fit.CPU_ONLY, "no usable GPU"),
    ("tf-1.15-cuda10.0", host("9.0"), Fit.UNPROVEN, "older than this GPU"),
    ("tf-2.15-cpu", host(avx=False), Fit.NO, "SIGILL"),
    ("tf-2.15-cpu", host(avx=None), Fit.CPU_ONLY, "a CPU environment"),
    ("tf-1.4-cpu", host(avx=False), Fit.CPU_ONLY, "a CPU environment"),
    ("tf-2.15-cpu", host("8.0"), Fit.CPU_ONLY, "a CPU environment"),
    ("tf-2.15-cpu", host(machine="aarch64"), Fit.NO, "aarch64"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "machine", "fit", "says"), CASES, ids=[f"{case[0]}-{case[3][:24]}" for case in CASES])
def test_a_row_gets_its_answer_with_the_reason(row: str, machine: Host, fit: Fit, says: str) -> None:
    answer = judged(row, machine)

    assert answer.fit is fit
    assert says in "; ".join(answer.why)


def test_a_driver_that_is_too_old_is_told_how_old_it_may_be() -> None:
    gpu = judged("tf-2.15-cuda12.2", host("7.0", driver="470.57.02")).gpus[0]
    assert gpu.driver == Release("525.60.13")


def test_the_best_gpu_decides_and_each_says_its_own() -> None:
    answer = judged("tf-2.15-cuda12.2", host("7.0", "3.7"))

    assert answer.fit is Fit.RUNS
    assert [gpu.fit for gpu in answer.gpus] == [Fit.RUNS, Fit.NO]
    assert any(reason.startswith("GPU of 3.7: ") for reason in answer.why)


def test_gpus_of_one_kind_are_one_entry() -> None:
    assert len(judged("tf-2.15-cuda12.2", host("7.0", "7.0")).gpus) == 1


def test_the_c_library_of_the_host_matters_without_a_container_only() -> None:
    old = judged("tf-2.15-cpu", host(glibc=Release("2.5")))
    assert (old.fit, old.bare) == (
        Fit.CPU_ONLY,
        f"needs glibc {real_row('tf-2.15-cpu').framework.glibc}, this host has 2.5",
    )
    assert judged("tf-2.15-cpu", host()).bare == ""
    assert judged("tf-2.15-cpu", host(glibc=None)).bare == ""


@pytest.mark.parametrize("row", CATALOG.environments, ids=lambda row: row.id)
def test_every_row_has_an_answer_on_every_gpu_of_the_catalog(row: object) -> None:
    for gpu in CATALOG.cuda.gpus:
        answer = judge_row(CATALOG.cuda, row, host(str(gpu.capability)))  # type: ignore[arg-type]
        assert answer.why
        assert answer.base


@given(
    st.sampled_from(CATALOG.environments), st.sampled_from(CATALOG.cuda.gpus), st.sampled_from(CATALOG.cuda.releases)
)
def test_a_newer_driver_never_makes_a_row_fit_worse(row: object, gpu: object, release: object) -> None:
    order = list(Fit)
    capability = str(gpu.capability)  # type: ignore[attr-defined]
    older = judge_row(CATALOG.cuda, row, host(capability, driver=str(release.driver)))  # type: ignore[arg-type, attr-defined]
    newest = judge_row(CATALOG.cuda, row, host(capability))  # type: ignore[arg-type]
    assert order.index(newest.fit) <= order.index(older.fit)


def test_what_is_not_known_never_runs() -> None:
    unknown = Host(name="nobody looked")
    answers = judge_rows(CATALOG.cuda, CATALOG.environments, unknown)
    assert {answer.fit for answer in answers} == {Fit.UNPROVEN, Fit.CPU_ONLY}
    assert all(answer.environment.endswith("-cpu") for answer in answers if answer.fit is Fit.CPU_ONLY)


def test_the_whole_examination_is_in_the_order_of_the_catalog() -> None:
    whole = examine_machine(CATALOG, view().facts, around())
    assert [row.environment for row in whole.rows] == [row.id for row in CATALOG.environments]
    assert not whole.has_problems
    assert {row.fit for row in whole.rows} >= {Fit.RUNS, Fit.JIT, Fit.CPU_ONLY}


def test_a_machine_without_gpu_runs_the_cpu_rows() -> None:
    whole = examine_machine(CATALOG, without_driver().facts, None)
    assert not whole.has_problems
    assert {row.fit for row in whole.rows} == {Fit.CPU_ONLY, Fit.NO}

"""The judge of compatibility against NVIDIA's published tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import pytest
import yaml

from envbuilder.catalog.compatibility import judge
from envbuilder.catalog.coverage import support_of
from envbuilder.catalog.cuda import Coverage
from envbuilder.catalog.environments import BaseChoice, BaseKind, Environment
from envbuilder.catalog.machine import Host, HostGpu, capability_of
from envbuilder.catalog.verdicts import Compatibility, Fit, Rule
from envbuilder.core.versions import Release
from tests.fakes.catalogs import DATA, real_catalog, real_row
from tests.fakes.verdicts import judge_environment

Statement: TypeAlias = "dict[str, str]"
CATALOG = real_catalog()
PUBLISHED = yaml.safe_load((DATA / "published" / "compatibility.yaml").read_text("utf-8"))
RUNS = {Fit.FITS, Fit.JIT}


def machine(gpu: str, driver: str) -> Host:
    return Host(name="", driver=Release(driver), gpus=(HostGpu(name=gpu, capability=None),), machine="x86_64", avx=True)


def verdict(row: Environment, choice: BaseChoice, gpu: str, driver: str) -> Compatibility:
    return judge(CATALOG.cuda, row, choice, machine(gpu, driver))


def with_code_for(gpu: str, *, kind: BaseKind | None = None) -> Iterator[tuple[Environment, BaseChoice]]:
    """Environments on bases whose every part has machine code for a GPU, so that the driver alone decides."""
    capability = capability_of(CATALOG.cuda, HostGpu(name=gpu, capability=None))
    assert capability is not None
    for row in CATALOG.environments:
        for choice in row.bases if row.cuda else ():
            support = support_of(CATALOG.cuda, row, choice, capability)
            is_wanted = kind is None or choice.system.kind is kind
            if is_wanted and support and support.coverage is Coverage.MACHINE_CODE and not support.doubts:
                yield row, choice


def texts(verdict: Compatibility) -> list[str]:
    return [reason.text for reason in verdict.deciding]


@pytest.mark.parametrize("said", PUBLISHED["minor_version"], ids=lambda said: f"CUDA {said['family']}.x")
def test_every_release_of_a_family_runs_from_its_floor_on(said: dict[str, str]) -> None:
    # 11.0 preceded the rule, and runs on its own, older driver.
    pairs = [
        (row, choice)
        for row, choice in with_code_for("Tesla V100-SXM2-16GB", kind=BaseKind.DEBIAN)
        if choice.cuda and choice.cuda.major == int(said["family"]) and choice.cuda.head(2) != (11, 0)
    ]
    assert len(pairs) > 4
    for row, choice in pairs:
        assert verdict(row, choice, "Tesla V100-SXM2-16GB", said["driver"]).fit is Fit.FITS, row.id
        older = verdict(row, choice, "Tesla V100-SXM2-16GB", said["older"])
        assert older.fit is Fit.NO, row.id
        assert said["driver"] in "".join(texts(older))


@pytest.mark.parametrize("said", PUBLISHED["toolkit"], ids=lambda said: f"CUDA {said['cuda']}")
def test_before_the_families_a_release_runs_from_its_own_driver_on(said: Statement) -> None:
    # A consumer GPU that CUDA 8.0 has code for: forward compatibility does not count.
    gpu = "NVIDIA GeForce GTX 1080 Ti"
    pairs = [
        (row, choice)
        for row, choice in with_code_for(gpu)
        if choice.cuda and choice.cuda.head(2) == Release(said["cuda"]).head(2)
    ]
    assert pairs
    for row, choice in pairs:
        assert verdict(row, choice, gpu, said["driver"]).fit is Fit.FITS, row.id
        assert verdict(row, choice, gpu, said["older"]).fit is Fit.NO, row.id


@pytest.mark.parametrize("said", PUBLISHED["forward"], ids=lambda said: f"CUDA {said['cuda']} on {said['gpu']}")
def test_nvidias_images_run_on_the_branches_that_their_notes_name(said: dict[str, list[str]]) -> None:
    name = str(said["gpu"])
    wanted = str(said.get("environment", ""))
    pairs = [
        (row, choice)
        for row in CATALOG.environments
        for choice in row.bases
        if row.cuda
        and choice.system.kind is BaseKind.IMAGE
        and choice.system.cuda
        and choice.system.cuda.head(2) == Release(str(said["cuda"])).head(2)
        and (row.id == wanted if wanted else (row, choice) in list(with_code_for(name, kind=BaseKind.IMAGE)))
    ]
    assert pairs
    for row, choice in pairs:
        for driver in said["admitted"]:
            judged = verdict(row, choice, name, driver)
            assert judged.fit in RUNS, (row.id, driver, texts(judged))
        for driver in said["refused"]:
            assert verdict(row, choice, name, driver).fit is Fit.NO, (row.id, driver)


@pytest.mark.parametrize("said", PUBLISHED["last_branch"], ids=lambda said: said["gpu"])
def test_a_driver_after_the_last_branch_of_a_gpu_does_not_run_it(said: Statement) -> None:
    row = real_row(said["environment"])
    last = judge_environment(CATALOG.cuda, row, machine(said["gpu"], said["last"]))
    dropped = judge_environment(CATALOG.cuda, row, machine(said["gpu"], said["dropped"]))
    assert last.fit in RUNS, texts(last)
    assert dropped.fit is Fit.NO
    assert {reason.rule for reason in dropped.deciding} == {Rule.LAST_DRIVER}


@pytest.mark.parametrize("said", PUBLISHED["first_toolkit"], ids=lambda said: said["gpu"])
def test_libraries_older_than_a_gpu_are_never_said_to_run_it(said: Statement) -> None:
    # The base whose CUDA is nearest to that of the wheel.
    choice = min(real_row(said["before"]).bases, key=lambda choice: choice.cuda or Release("99"))
    before = verdict(real_row(said["before"]), choice, said["gpu"], "555.42.06")
    assert before.fit in {Fit.UNKNOWN, Fit.NO}, texts(before)
    assert judge_environment(CATALOG.cuda, real_row(said["from"]), machine(said["gpu"], "555.42.06")).fit in RUNS

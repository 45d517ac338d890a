"""Figures, groups and seconds out of real facts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envbuilder.core.versions import Release
from envbuilder.diagnostics.checks.evaluation import run_checks
from envbuilder.diagnostics.checks.figures import figures
from envbuilder.diagnostics.checks.results import Report, Tier
from envbuilder.diagnostics.checks.subjects import OTHER, group_of, seconds_of
from envbuilder.diagnostics.checks.table import CHECKS
from envbuilder.diagnostics.facts.facts import NOT_ASKED, Facts, Seen, Unseen
from envbuilder.diagnostics.facts.gpu import Placement
from envbuilder.diagnostics.facts.hardware import GpuBytes, Nvml, NvmlGpu
from tests.unit.diagnostics.checks.cases import facts_named
from tests.unit.diagnostics.checks.expectations import TF_2_20

HEALTHY = facts_named("tf-2.20-cuda-wheels", ("two-a100",))
WORKED = facts_named("tf-2.20-cuda-wheels", ("two-a100", "two-a100-work"))


def managed(index: int) -> NvmlGpu:
    return NvmlGpu(
        index=index,
        name="NVIDIA A100-SXM4-40GB",
        uuid=None,
        capability=Release("8.0"),
        memory=GpuBytes(total=40 << 30, used=1 << 30, free=39 << 30),
        mig=False,
        instances=None,
        ecc=True,
        persistence=True,
        compute_mode="default",
        bus=None,
        processes=(),
        errors=(),
    )


NVML = Nvml(
    loadable=True,
    error="",
    stub=False,
    init_code=0,
    init_name="",
    driver=Release("550.54"),
    visible=None,
    gpus=(managed(0), managed(1)),
)


def report() -> Report:
    return run_checks(TF_2_20, HEALTHY, tier=Tier.GPU, required=None, subject="x", seconds=1)


@pytest.mark.parametrize("check_id", [check.id for check in CHECKS])
def test_every_check_stands_under_a_heading(check_id: str) -> None:
    assert group_of(check_id) != OTHER, "name its first word in checking/subjects.py"


def test_results_know_group_tiers_and_seconds() -> None:
    results = {each.id: each for each in report().results}
    imported = results["tensorflow-imports"]
    assert (imported.group, imported.tiers, imported.seconds) == (
        "TensorFlow",
        (Tier.CPU, Tier.GPU),
        HEALTHY.imported.seconds,
    )
    assert results["gpu-matmul-on-gpu"].tiers == (Tier.GPU,)
    # The import is counted for the check that is about it, not for those that look at its version.
    assert results["tensorflow-version"].seconds is None


def test_the_seconds_of_a_report_can_be_added_up() -> None:
    assert sum(each.seconds or 0 for each in report().results) <= HEALTHY.seconds


def test_a_step_that_was_not_taken_has_no_seconds() -> None:
    untried = replace(HEALTHY, training=NOT_ASKED)
    crashed = replace(HEALTHY, training=Unseen(kind="Signal", message="SIGSEGV", seconds=2.5))
    assert seconds_of("training-loss-falls", untried) is None
    assert seconds_of("training-loss-falls", crashed) == 2.5
    assert "training" not in {each.name for each in figures(untried)}


def test_figures_have_names_that_are_unique_in_their_group() -> None:
    names = [(each.group, each.name) for each in report().figures]
    assert names
    assert len(set(names)) == len(names)


def values(facts: Facts) -> dict[tuple[str, str], float]:
    return {(each.group, each.name): each.value for each in figures(facts)}


def test_memory_of_machine_and_gpus_is_a_figure_where_it_is_known() -> None:
    found = values(HEALTHY)
    assert found["Memory of the machine", "memory"] == 25276502016
    assert ("Memory of the machine", "limit") not in found
    assert found["Memory of the GPUs", "GPU 1 all"] > 40e9

    blind = replace(HEALTHY, machine=NOT_ASKED, driver=NOT_ASKED, nvml=NOT_ASKED, compute=NOT_ASKED)
    assert {each.group for each in figures(blind)} == {"Time of each step"}


def test_where_nvml_tells_the_memory_it_is_told_once_with_what_others_hold() -> None:
    found = {
        name: value
        for (group, name), value in values(replace(HEALTHY, nvml=Seen(value=NVML))).items()
        if group == "Memory of the GPUs"
    }
    assert set(found) == {f"GPU {index} {word}" for index in (0, 1) for word in ("all", "free", "held")}


def test_latency_and_rates_are_figures_with_their_spread() -> None:
    worked = {(each.group, each.name): each for each in figures(WORKED)}
    latency = worked["Latency of one small operation", "GPU 0"]
    assert (latency.value, latency.unit, latency.high) == (42, "us", 95)
    rates = [each for (group, _), each in worked.items() if group == "Rate of matrix products"]
    assert {each.unit for each in rates} == {"TFLOP/s"}
    assert len([each for each in rates if "cuBLAS alone" in each.name]) == 4
    assert len([each for each in rates if each.high]) == 4
    assert {name for group, name in worked if group == "Held by TensorFlow"} >= {"GPU 0 at the start", "GPU 0 grown"}


def test_what_ran_on_the_cpu_is_no_figure_of_a_gpu() -> None:
    assert isinstance(WORKED.tier.latency, Seen)
    elsewhere = tuple(
        replace(
            gpu,
            work=replace(gpu.work, value=replace(gpu.work.value, where=Placement(placed=("/CPU:0",), on_device=False))),
        )
        for gpu in WORKED.tier.latency.value
        if isinstance(gpu.work, Seen)
    )
    assert elsewhere
    on_cpu = replace(WORKED, tier=replace(WORKED.tier, latency=Seen(value=elsewhere)))
    assert "Latency of one small operation" not in {each.group for each in figures(on_cpu)}

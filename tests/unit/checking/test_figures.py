"""Figures, groups and seconds out of real facts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envbuilder.checking import CHECKS, judge
from envbuilder.checking.figures import figures
from envbuilder.checking.subjects import OTHER, group_of, seconds_of
from envbuilder.model.facts import NOT_ASKED, Unseen
from envbuilder.model.findings import Report, Tier
from tests.unit.checking.cases import facts_named
from tests.unit.checking.expectations import TF_2_20

HEALTHY = facts_named("tf-2.20-cuda-wheels", ("two-a100",))


def report() -> Report:
    return judge(TF_2_20, HEALTHY, tier=Tier.GPU, required=None, subject="x", seconds=1)


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


def test_memory_of_machine_and_gpus_is_a_figure_where_it_is_known() -> None:
    found = {(each.group, each.name): each.value for each in figures(HEALTHY)}
    assert found["Memory of the machine", "memory"] == 25276502016
    assert ("Memory of the machine", "limit") not in found
    assert found["Memory of the GPUs", "GPU 1"] > 40e9

    blind = replace(HEALTHY, machine=NOT_ASKED, driver=NOT_ASKED)
    assert {each.group for each in figures(blind)} == {"Time of each step"}

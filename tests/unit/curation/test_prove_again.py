"""Evidence that holds is not made again, and evidence that does not hold any more is gone."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from envbuilder.catalog.environments import Environment
from envbuilder.catalog.evidence import Grade, ProvenImage, RanOnGpu
from envbuilder.core.errors import BuildFailed, EngineUnavailable, SourceUnreachable
from envbuilder.curation.prove import prove
from tests.fakes.catalogs import small_row
from tests.fakes.proving import TODAY, World, facts_without_import, world
from tests.fakes.resolver import FakeResolver
from tests.unit.curation.outcomes import grades, ran_on_cpu, reasons, resolved

ROW = small_row("tf-2.15-cpu")
TWO_BASES = small_row("tf-2.4-cuda11.0")
TOMORROW = TODAY + timedelta(days=1)


@pytest.fixture
def here(tmp_path: Path) -> World:
    return world(tmp_path)


def cpu_then_changed(here: World) -> tuple[Environment, str]:
    """The row after it ran on a CPU and its packages were moved, and the old closure."""
    before = prove(ROW, Grade.CPU, here.ports()).row
    here.resolver = FakeResolver(versions={"numpy": "1.26.4"}, needs={"tensorflow-cpu": ["numpy"]})
    return replace(here.reloaded(ROW), cutoff=date(2025, 1, 1)), ran_on_cpu(before).closure


def test_a_shared_closure_is_the_same_after_a_second_run(here: World) -> None:
    row = replace(TWO_BASES, bases=tuple(replace(choice, libraries=None) for choice in TWO_BASES.bases))
    first = prove(row, Grade.RESOLVED, here.ports())
    before = here.closures.read(row.id)
    assert prove(here.reloaded(row), Grade.RESOLVED, here.ports()).row == first.row
    assert here.closures.read(row.id) == before


def test_a_second_run_runs_nothing_and_writes_nothing(here: World) -> None:
    prove(ROW, Grade.CPU, here.ports())
    files = {path: path.stat().st_mtime_ns for path in here.matrices.rglob("*") if path.is_file()}
    ran, here.today = here.ran, TOMORROW
    outcome = prove(here.reloaded(ROW), Grade.CPU, here.ports())
    assert (outcome.reached, outcome.again) == (Grade.CPU, False)
    assert here.ran == ran
    assert {path: path.stat().st_mtime_ns for path in here.matrices.rglob("*") if path.is_file()} == files


def test_a_lower_grade_is_there_when_a_higher_one_was_proven(here: World) -> None:
    prove(ROW, Grade.CPU, here.ports())
    ran = here.ran
    outcome = prove(here.reloaded(ROW), Grade.RESOLVED, here.ports())
    assert (outcome.reached, outcome.again, here.ran) == (Grade.RESOLVED, False, ran)
    assert Grade.CPU in grades(outcome)


def test_a_higher_grade_goes_on_from_what_is_resolved(here: World) -> None:
    prove(ROW, Grade.RESOLVED, here.ports())
    asked, here.today = len(here.resolver.asked), TOMORROW
    outcome = prove(here.reloaded(ROW), Grade.CPU, here.ports())
    assert len(here.resolver.asked) == asked
    assert [entry.when for entry in resolved(outcome.row)] == [TODAY]
    assert ran_on_cpu(outcome.row).when == TOMORROW


def test_again_runs_what_is_proven_and_does_not_resolve(here: World) -> None:
    prove(ROW, Grade.CPU, here.ports())
    asked, here.today = len(here.resolver.asked), TOMORROW
    outcome = prove(here.reloaded(ROW), Grade.CPU, here.ports(), again=True)
    assert (outcome.reached, outcome.again) == (Grade.CPU, True)
    assert (len(here.resolver.asked), len(here.looked)) == (asked, 2)
    assert ran_on_cpu(outcome.row).when == TOMORROW


def test_a_row_that_does_not_run_any_more_loses_its_evidence(here: World) -> None:
    prove(ROW, Grade.CPU, here.ports())
    here.facts = facts_without_import("no more")
    outcome = prove(here.reloaded(ROW), Grade.CPU, here.ports(), again=True)
    assert outcome.reached is None
    assert grades(outcome) == [Grade.DOCUMENTED, Grade.RESOLVED]
    assert [grade for grade, _ in reasons(outcome.row)] == [Grade.CPU]
    assert not list((here.matrices / "evidence" / "reports").rglob("*.json"))


@pytest.mark.parametrize("cause", ["no interpreter", "no index"])
def test_what_could_not_be_tried_again_keeps_its_evidence_and_says_so(here: World, cause: str) -> None:
    before = prove(ROW, Grade.CPU, here.ports()).row
    if cause == "no interpreter":
        here.pythons = {}
    else:
        here.refusal = SourceUnreachable("the package index does not answer")
    outcome = prove(here.reloaded(ROW), Grade.CPU, here.ports(), again=True)
    assert (outcome.reached, outcome.again) == (Grade.CPU, False)
    assert outcome.row == before
    assert "keeps its evidence" in here.told[-1]


def test_an_image_that_could_not_be_tried_again_keeps_its_evidence(here: World) -> None:
    prove(ROW, Grade.IMAGE, here.ports())
    here.images.refusal = EngineUnavailable("no engine answers")
    outcome = prove(here.reloaded(ROW), Grade.IMAGE, here.ports(), again=True)
    assert (outcome.reached, outcome.again) == (Grade.IMAGE, False)


def test_relocking_resolves_anew_and_keeps_the_new_closure(here: World) -> None:
    prove(ROW, Grade.RESOLVED, here.ports())
    here.resolver = FakeResolver(versions={"numpy": "1.26.4"}, needs={"tensorflow-cpu": ["numpy"]})
    same = prove(here.reloaded(ROW), Grade.RESOLVED, here.ports())
    assert not here.resolver.asked
    moved = prove(here.reloaded(ROW), Grade.RESOLVED, here.ports(), relock=True)
    assert resolved(moved.row) != resolved(same.row)
    [closure] = here.closures.read(ROW.id)
    assert ("numpy", "1.26.4") in [(each.name, each.version) for each in closure.packages]


def test_relocking_to_the_same_files_keeps_evidence_and_day(here: World) -> None:
    before = prove(ROW, Grade.CPU, here.ports()).row
    here.today = TOMORROW
    outcome = prove(here.reloaded(ROW), Grade.CPU, here.ports(), relock=True)
    assert outcome.row == before
    assert len(here.looked) == 1


def test_a_row_whose_packages_changed_loses_its_old_evidence_and_is_run_again(here: World) -> None:
    row, old = cpu_then_changed(here)
    outcome = prove(row, Grade.CPU, here.ports())
    assert ran_on_cpu(outcome.row).closure == resolved(outcome.row)[0].closure != old
    assert len(here.looked) == 2


def test_old_evidence_is_gone_even_where_the_new_packages_do_not_run(here: World) -> None:
    row, _ = cpu_then_changed(here)
    here.facts = facts_without_import("numpy is too new")
    outcome = prove(row, Grade.CPU, here.ports())
    assert grades(outcome) == [Grade.DOCUMENTED, Grade.RESOLVED]


def test_evidence_of_images_and_gpus_goes_with_the_packages_too(here: World) -> None:
    for tier in (Grade.IMAGE, Grade.GPU):
        prove(here.reloaded(ROW) if tier is Grade.GPU else ROW, tier, here.ports())
    assert {ProvenImage, RanOnGpu} <= {type(entry) for entry in here.recorded(ROW.id).evidence}
    outcome = prove(replace(here.reloaded(ROW), cutoff=date(2025, 1, 1)), Grade.RESOLVED, here.ports())
    assert {ProvenImage, RanOnGpu} <= {type(entry) for entry in outcome.row.evidence}, "the same files are the same"
    here.resolver = FakeResolver(needs={"tensorflow-cpu": ["numpy"]})
    outcome = prove(here.reloaded(ROW), Grade.RESOLVED, here.ports(), relock=True)
    assert grades(outcome) == [Grade.DOCUMENTED, Grade.RESOLVED]


def test_what_was_not_proven_is_tried_again_and_its_reason_goes_when_it_is(here: World) -> None:
    here.pythons = {}
    prove(ROW, Grade.CPU, here.ports())
    here.pythons = {"3.11": "3.11.7"}
    outcome = prove(here.reloaded(ROW), Grade.CPU, here.ports())
    assert outcome.reached is Grade.CPU
    assert outcome.row.unproven == ()


def test_a_reason_of_another_grade_stays(here: World) -> None:
    here.images.refusal = EngineUnavailable("no engine answers")
    prove(ROW, Grade.IMAGE, here.ports())
    outcome = prove(here.reloaded(ROW), Grade.CPU, here.ports())
    assert outcome.reached is Grade.CPU
    assert reasons(outcome.row) == [(Grade.IMAGE, "no engine answers")]


@pytest.mark.parametrize(("tier", "kind"), [(Grade.IMAGE, ProvenImage), (Grade.GPU, RanOnGpu)])
def test_an_image_is_evidence_and_a_second_run_builds_none(here: World, tier: Grade, kind: type[object]) -> None:
    outcome = prove(ROW, tier, here.ports())
    assert outcome.reached is tier
    assert isinstance(outcome.row.evidence[-1], kind)
    again = prove(here.reloaded(ROW), tier, here.ports())
    assert (again.reached, again.again) == (tier, False)
    assert here.images.asked == [(ROW.id, tier)]


def test_an_image_that_cannot_be_built_any_more_loses_its_evidence(here: World) -> None:
    prove(ROW, Grade.IMAGE, here.ports())
    here.images.refusal = BuildFailed("a step failed")
    outcome = prove(here.reloaded(ROW), Grade.IMAGE, here.ports(), again=True)
    assert outcome.reached is None
    assert grades(outcome) == [Grade.DOCUMENTED, Grade.RESOLVED]
    assert reasons(outcome.row) == [(Grade.IMAGE, "a step failed")]


def test_an_image_with_stand_ins_is_weaker_than_one_without(here: World) -> None:
    here.images.stand_ins = ("libcublas.so.9.0",)
    first = prove(ROW, Grade.IMAGE_WITH_STAND_INS, here.ports())
    assert (first.reached, grades(first)[-1]) == (Grade.IMAGE_WITH_STAND_INS, Grade.IMAGE_WITH_STAND_INS)
    assert not prove(here.reloaded(ROW), Grade.IMAGE_WITH_STAND_INS, here.ports()).again

    real = prove(here.reloaded(ROW), Grade.IMAGE, here.ports())
    assert (real.reached, real.again) == (Grade.IMAGE, True)
    assert Grade.IMAGE_WITH_STAND_INS not in grades(real)


def test_an_image_without_stand_ins_answers_a_request_for_one_with_them(here: World) -> None:
    prove(ROW, Grade.IMAGE, here.ports())
    outcome = prove(here.reloaded(ROW), Grade.IMAGE_WITH_STAND_INS, here.ports())
    assert (outcome.reached, outcome.again) == (Grade.IMAGE, False)


def test_a_failure_with_stand_ins_is_recorded_under_their_grade(here: World) -> None:
    here.images.refusal = BuildFailed("a step failed")
    outcome = prove(ROW, Grade.IMAGE_WITH_STAND_INS, here.ports())
    assert outcome.reached is None
    assert reasons(outcome.row)[-1] == (Grade.IMAGE_WITH_STAND_INS, "a step failed")

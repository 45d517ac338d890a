"""A row becomes evidence, and what failed becomes a reason."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.catalog.evidence import Grade, RanOnCpu, Resolved
from envbuilder.core.errors import EnvbuilderError, SourceUnreachable, ToolFailed
from envbuilder.core.versions import Release
from envbuilder.curation.prove import prove
from envbuilder.lock.closures import Chosen, Closure
from envbuilder.lock.resolve.resolver import Resolution
from envbuilder.lock.resolve.shipped_closures import dump_closures
from tests.fakes.catalogs import small_row
from tests.fakes.proving import TODAY, World, facts_without_import, world
from tests.fakes.resolver import FakeResolver, chosen
from tests.unit.curation.outcomes import grades, ran_on_cpu, reasons, resolved

ROW = small_row("tf-2.15-cpu")
TWO_BASES = small_row("tf-2.4-cuda11.0")
FROM_SOURCE = small_row("tf-1.7-cuda9.0")


@pytest.fixture
def here(tmp_path: Path) -> World:
    return world(tmp_path)


def test_resolved_is_reached_without_installing_anything(here: World) -> None:
    outcome = prove(ROW, Grade.RESOLVED, here.ports())
    assert (outcome.reached, outcome.again) == (Grade.RESOLVED, True)
    assert grades(outcome) == [Grade.DOCUMENTED, Grade.RESOLVED]
    [shipped] = here.closures.read(ROW.id)
    assert resolved(outcome.row) == (
        Resolved(bases=("debian-new",), python="3.11", closure=shipped.digest, when=TODAY),
    )
    assert not here.made_for
    assert not here.looked


def test_the_closure_that_is_kept_is_found_for_the_same_request(here: World) -> None:
    prove(FROM_SOURCE, Grade.RESOLVED, here.ports())
    asked = here.resolver.asked[0]
    found = here.closures.find(FROM_SOURCE.id, asked)
    assert found is not None
    assert [each.name for each in found.packages] == ["tensorflow-gpu"]


def test_the_closure_that_is_kept_has_the_sizes_of_its_files(here: World) -> None:
    prove(ROW, Grade.RESOLVED, here.ports())
    files = [each for closure in here.closures.read(ROW.id) for each in closure.packages]
    assert files
    assert [each.size for each in files] == [len(each.file) for each in files]


def test_what_is_built_from_source_ships_with_its_build_tools(here: World) -> None:
    here.resolver = FakeResolver(needs={"tensorflow-gpu": ["termcolor"]})
    prove(FROM_SOURCE, Grade.RESOLVED, here.ports())
    [closure] = here.closures.read(FROM_SOURCE.id)
    assert [each.name for each in closure.build] == ["setuptools", "wheel"]


def test_bases_with_the_same_files_share_one_closure(here: World) -> None:
    row = replace(TWO_BASES, bases=tuple(replace(choice, libraries=None) for choice in TWO_BASES.bases))
    outcome = prove(row, Grade.RESOLVED, here.ports())
    assert [entry.bases for entry in resolved(outcome.row)] == [("image-11.0", "debian-new")]
    other = prove(TWO_BASES, Grade.RESOLVED, here.ports(), relock=True)
    assert [entry.bases for entry in resolved(other.row)] == [("image-11.0",), ("debian-new",)]


def test_a_row_that_runs_is_proven_with_interpreter_library_closure_and_report(here: World) -> None:
    outcome = prove(ROW, Grade.CPU, here.ports())
    assert (outcome.reached, outcome.again) == (Grade.CPU, True)
    [closure] = here.closures.read(ROW.id)
    assert ran_on_cpu(outcome.row) == RanOnCpu(
        python="3.11.7", glibc="2.36", closure=closure.digest, when=TODAY, report="tf-2.15-cpu/cpu-3.11.json"
    )
    assert outcome.row.unproven == ()
    kept = here.matrices / "evidence" / "reports" / "tf-2.15-cpu" / "cpu-3.11.json"
    report = json.loads(kept.read_text(encoding="utf-8"))
    assert (report["schema"], report["passed"]) == (1, True)
    assert report["subject"] == "tensorflow-cpu 2.15.1 on Python 3.11.7"


def test_what_is_recorded_is_what_is_told(here: World) -> None:
    outcome = prove(ROW, Grade.CPU, here.ports())
    assert here.reloaded(ROW) == outcome.row


def test_a_failing_import_is_a_reason_on_one_line(here: World) -> None:
    here.facts = facts_without_import("Traceback (most recent call last):\n  File x\nImportError: no\tlibx\n\nSee y")
    outcome = prove(ROW, Grade.CPU, here.ports())
    assert (outcome.reached, outcome.again) == (None, True)
    [(grade, why)] = reasons(outcome.row)
    assert grade is Grade.CPU
    assert why.startswith("import tensorflow: ")
    assert why.isprintable()
    assert "no libx" in why
    assert here.reloaded(ROW) == outcome.row
    assert not (here.matrices / "evidence" / "reports").exists()


def test_a_long_reason_is_cut(here: World) -> None:
    here.refusal = ToolFailed("word " * 500)
    [(_, why)] = reasons(prove(ROW, Grade.CPU, here.ports()).row)
    assert len(why) == 300
    assert why.endswith("…")


def test_a_row_whose_environment_lacks_a_package_is_not_proven(here: World) -> None:
    here.resolver = FakeResolver(needs={"tensorflow-cpu": ["nowhere"]})
    [(_, why)] = reasons(prove(ROW, Grade.CPU, here.ports()).row)
    assert "nowhere" in why


@pytest.mark.parametrize(
    "refusal", [ToolFailed("the packages cannot be installed:\n  bad wheel"), SourceUnreachable("no index")]
)
def test_what_cannot_be_installed_is_a_reason(here: World, refusal: EnvbuilderError) -> None:
    here.refusal = refusal
    outcome = prove(ROW, Grade.CPU, here.ports())
    assert outcome.reached is None
    assert reasons(outcome.row) == [(Grade.CPU, " ".join(refusal.message.split()))]
    assert not here.looked


def test_without_an_interpreter_nothing_is_installed_and_the_versions_are_named(here: World) -> None:
    here.pythons = {"3.10": "3.10.13"}
    outcome = prove(ROW, Grade.CPU, here.ports())
    assert outcome.reached is None
    assert reasons(outcome.row) == [(Grade.CPU, "no interpreter of Python 3.11 on this host")]
    assert not here.made_for


def test_the_first_base_whose_interpreter_is_there_is_the_one_that_is_run(here: World) -> None:
    first, second = TWO_BASES.bases
    row = replace(TWO_BASES, bases=(replace(first, python=Release("3.7")), second))
    prove(row, Grade.CPU, here.ports())
    [(python, closure)] = here.made_for
    assert (python, closure.bases) == ("3.8.18", ("debian-new",))


def test_packages_that_do_not_go_together_are_told_by_base(here: World) -> None:
    here.resolver = FakeResolver(unsolvable=["tensorflow-cpu"])
    outcome = prove(ROW, Grade.CPU, here.ports())
    assert outcome.reached is None
    [(grade, why)] = reasons(outcome.row)
    assert grade is Grade.RESOLVED
    assert why.startswith("debian-new: ")
    assert not here.closures.read(ROW.id)
    assert not here.made_for


def test_a_row_that_resolves_on_one_base_only_is_not_resolved_but_can_run(here: World) -> None:
    libraries = TWO_BASES.bases[1].libraries
    assert libraries is not None
    here.resolver = FakeResolver(unsolvable=[libraries.wheels[0].partition("==")[0]])
    outcome = prove(TWO_BASES, Grade.RESOLVED, here.ports())
    assert outcome.reached is None
    assert [entry.bases for entry in resolved(outcome.row)] == [("image-11.0",)]
    assert reasons(outcome.row)[0][1].startswith("debian-new: ")
    prove(here.reloaded(TWO_BASES), Grade.CPU, here.ports())
    assert len(here.made_for) == 1


def test_evidence_is_on_disk_when_a_later_row_stops_the_run(here: World) -> None:
    prove(ROW, Grade.RESOLVED, here.ports())

    class Unplugged(FakeResolver):
        def resolve(self, wanted: Resolution) -> tuple[Chosen, ...]:
            raise SourceUnreachable(f"no index to resolve {wanted.requirements}")

    here.resolver = Unplugged()
    with pytest.raises(SourceUnreachable):
        prove(TWO_BASES, Grade.RESOLVED, here.ports())
    assert sorted(path.name for path in (here.matrices / "evidence").iterdir()) == ["tf-2.15-cpu.yaml"]
    assert sorted(path.name for path in (here.matrices / "locks").iterdir()) == ["tf-2.15-cpu.yaml"]


def test_an_image_that_does_not_do_what_it_must_is_a_reason(here: World) -> None:
    here.images.passed = False
    outcome = prove(ROW, Grade.IMAGE, here.ports())
    assert outcome.reached is None
    assert reasons(outcome.row) == [(Grade.IMAGE, "training: loss rose")]


def test_a_shipped_closure_is_used_and_nothing_resolved(here: World) -> None:
    prove(ROW, Grade.RESOLVED, here.ports())
    [closure] = here.closures.read(ROW.id)
    other = Closure(
        python=closure.python,
        answers=closure.answers,
        packages=(*closure.packages, chosen("typing-extensions", "4.5")),
        build=(),
    )
    (here.matrices / "locks" / f"{ROW.id}.yaml").write_text(dump_closures(ROW.id, [other]), encoding="utf-8")
    here.resolver = FakeResolver()
    outcome = prove(ROW, Grade.RESOLVED, here.ports())
    assert not here.resolver.asked
    assert resolved(outcome.row)[0].closure == other.digest

"""A stale lock says what changed in row and spec."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from envbuilder.catalog.cuda import LibraryLink
from envbuilder.catalog.environments import Environment
from envbuilder.core.memory_policy import GROWTH
from envbuilder.core.versions import Release
from envbuilder.lock.container_settings import User
from envbuilder.lock.diff import changed_inputs
from envbuilder.lock.inputs import inputs
from envbuilder.lock.lock import Lock
from envbuilder.lock.spec import Spec
from tests.fakes.catalogs import good_lock, small_row

ROW = small_row("tf-2.4-cuda11.0")
CHOICE = ROW.bases[1]
SPEC = Spec(environment=ROW.id)
DRIVER = Release("450.80.02")


def made_from(row: Environment, spec: Spec) -> Lock:
    return replace(good_lock(), inputs=inputs(row, row.bases[1], spec, DRIVER))


def changed(row: Environment = ROW, spec: Spec = SPEC) -> list[str]:
    return [
        str(change) for change in changed_inputs(made_from(ROW, SPEC), dict(inputs(row, row.bases[1], spec, DRIVER)))
    ]


def test_a_lock_of_the_same_row_and_spec_is_up_to_date() -> None:
    assert not changed()


def test_inputs_are_sorted_and_have_no_empty_values() -> None:
    found = inputs(ROW, CHOICE, SPEC, None)
    assert list(found) == sorted(found)
    assert all(value for _, value in found)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (replace(SPEC, packages=("six",)), "+ spec.packages six"),
        (replace(SPEC, apt=("git",)), "+ spec.apt git"),
        (replace(SPEC, source_builds=("six",)), "+ spec.source_builds six"),
        (replace(SPEC, cutoff=date(2024, 1, 1)), "+ spec.cutoff 2024-01-01"),
        (replace(SPEC, python=Release("3.7")), "+ spec.python 3.7"),
        (replace(SPEC, base="debian-new"), "+ spec.base debian-new"),
        (replace(SPEC, env=(("A", "b"),)), '+ spec.env.A "b"'),
        (replace(SPEC, user=User(name="app", uid=7, gid=1000)), "~ spec.user app 1000:1000 -> app 7:1000"),
        (replace(SPEC, memory=GROWTH), "~ spec.memory all -> growth"),
        (
            replace(SPEC, prioritized=(("own", ("/opt/a", "/opt/b")), ("system", ("/usr/c",)))),
            "+ spec.prioritized_files 3 files, ff702ff15521",
        ),
    ],
)
def test_a_change_of_the_spec_is_named(spec: Spec, told: str) -> None:
    assert changed(spec=spec) == [told]


def with_choice(**changes: object) -> Environment:
    return replace(ROW, bases=(ROW.bases[0], replace(CHOICE, **changes)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (replace(ROW, cutoff=date(2024, 1, 1)), "~ row.cutoff 2023-06-01 -> 2024-01-01"),
        (replace(ROW, constraints=()), "- row.constraints protobuf<3.21"),
        (replace(ROW, additions=()), "- row.additions h5py<3"),
        (replace(ROW, source_builds=("wrapt",)), "+ row.source_builds wrapt"),
        (with_choice(python=Release("3.7")), "~ row.base.python 3.8 from archive -> 3.7 from archive"),
        (with_choice(os_packages=("libgomp1",)), "+ row.base.os_packages libgomp1"),
        (with_choice(source_builds=("termcolor",)), "+ row.base.source_builds termcolor"),
        (with_choice(links=()), "- row.base.links libcusolver.so.10 -> libcusolver.so.11"),
        (
            with_choice(links=(LibraryLink(name="a.so", target="b.so"),)),
            "~ row.base.links libcusolver.so.10 -> libcusolver.so.11 -> a.so -> b.so",
        ),
    ],
)
def test_a_change_of_the_row_is_named(row: Environment, told: str) -> None:
    assert changed(row=row) == [told]


def test_another_driver_floor_is_named() -> None:
    now = dict(inputs(ROW, CHOICE, SPEC, Release("999.1")))
    assert [str(change) for change in changed_inputs(made_from(ROW, SPEC), now)] == ["~ row.driver 450.80.02 -> 999.1"]


def test_sources_are_no_input() -> None:
    named = replace(SPEC, sources=replace(SPEC.sources, index="https://index.example/simple"))
    assert not changed(spec=named)


def test_a_base_that_the_row_has_no_more_is_told() -> None:
    told = [str(change) for change in changed_inputs(made_from(ROW, SPEC), dict(inputs(ROW, None, SPEC, None)))]
    assert "- row.base debian-new" in told

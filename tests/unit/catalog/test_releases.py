"""Another patch release of a row is the same row, and says that nobody measured it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from packaging.version import Version

from envbuilder.catalog.environments import Catalog, Environment, OtherRelease
from envbuilder.catalog.evidence import Grade
from envbuilder.catalog.selection import select
from envbuilder.catalog.sources import Advisory, Source
from envbuilder.core.errors import UnknownEnvironment, UsageError
from envbuilder.core.versions import Release
from tests.fakes.catalogs import small_catalog, small_row

TRAP = Advisory(
    id="bad-release",
    title="2.4.2 does not do what it must",
    reason="made up",
    remedy="take another",
    sources=(Source(text="made up for tests"),),
)
OTHERS = (
    OtherRelease(package="tensorflow-gpu", version=Version("2.4.1"), pythons=(Release("3.8"),), advisory=None),
    OtherRelease(package="tensorflow", version=Version("2.4.2"), pythons=(Release("3.8"),), advisory=TRAP),
)


def row_with_others(name: str = "tf-2.4-cuda11.0") -> Environment:
    row = small_row(name)
    return replace(row, framework=replace(row.framework, others=OTHERS, measured="0" * 64))


def catalog_with_others() -> Catalog:
    row = row_with_others()
    rows = tuple(row if each.id == row.id else each for each in small_catalog().environments)
    return replace(small_catalog(), environments=rows)


def other(version: str) -> Environment:
    found = row_with_others().release(Version(version))
    assert found is not None
    return found


def test_the_rows_own_release_is_the_row() -> None:
    row = row_with_others()
    assert row.release(Version("2.4.4")) is row


def test_a_release_that_the_row_does_not_have_is_none() -> None:
    assert row_with_others().release(Version("2.4.9")) is None
    assert other("2.4.1").release(Version("2.4.4")) is None


def test_another_release_has_its_own_package_version_and_interpreters() -> None:
    wheel = other("2.4.2").framework
    assert (wheel.package, wheel.version, wheel.pythons) == ("tensorflow", Version("2.4.2"), (Release("3.8"),))
    assert wheel.glibc == row_with_others().framework.glibc
    assert wheel.others == ()


def test_nothing_that_was_proven_for_the_row_is_proven_for_another_release() -> None:
    found = other("2.4.1")
    assert (found.evidence, found.unproven, found.framework.measured) == ((), (), "")
    assert found.proven is Grade.DOCUMENTED


def test_every_base_states_the_deviation_beside_its_own() -> None:
    row, found = row_with_others(), other("2.4.1")
    for before, after in zip(row.bases, found.bases, strict=True):
        assert after.deviations[:-1] == before.deviations
        assert after.deviations[-1].what == "TensorFlow is 2.4.1 instead of 2.4.4"
        assert "was read from 2.4.4" in after.deviations[-1].why
        assert after.deviations[-1].sources


def test_the_trap_of_another_release_is_told() -> None:
    assert TRAP.title in other("2.4.2").bases[0].deviations[-1].why
    assert "trap" not in other("2.4.1").bases[0].deviations[-1].why


def test_a_row_is_selected_with_its_own_release_or_another() -> None:
    catalog = catalog_with_others()
    assert select(catalog, "tf-2.4-cuda11.0", None).framework.version == Version("2.4.4")
    assert select(catalog, "tf-2.4-cuda11.0", Version("2.4.1")).framework.version == Version("2.4.1")


def test_a_release_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(UsageError, match=r"does not have TensorFlow 2\.5\.0") as caught:
        select(catalog_with_others(), "tf-2.4-cuda11.0", Version("2.5.0"))
    assert caught.value.hint == "it has 2.4.1, 2.4.2, 2.4.4"


def test_a_row_that_is_not_there_is_told_before_its_release() -> None:
    with pytest.raises(UnknownEnvironment):
        select(catalog_with_others(), "tf-2.4", Version("2.5.0"))

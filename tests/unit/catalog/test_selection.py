"""What people type finds its row, or the rows that it looks like."""

from __future__ import annotations

import pytest

from envbuilder.catalog.selection import find, matching
from envbuilder.core.errors import UnknownEnvironment
from tests.fakes.catalogs import real_catalog

CATALOG = real_catalog()


@pytest.mark.parametrize("row", CATALOG.environments, ids=lambda row: row.id)
def test_every_id_finds_its_own_row(row: object) -> None:
    assert find(CATALOG, row.id) is row  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [
        ("tf-2.4", "tf-2.4-cuda11.0"),
        ("tf-2.4-cuda11.1", "tf-2.4-cuda11.0"),
        ("TF-2.4-CUDA11.0", "tf-2.4-cuda11.0"),
        ("tf2.4-cuda11", "tf-2.4-cuda11.0"),
        ("tf-2.15-gpu", "tf-2.15-cpu"),
    ],
)
def test_a_slip_is_told_with_the_nearest_id_first(typed: str, nearest: str) -> None:
    with pytest.raises(UnknownEnvironment) as caught:
        find(CATALOG, typed)
    assert caught.value.nearest[0] == nearest
    assert len(caught.value.nearest) <= 3


def test_nothing_near_is_no_suggestion() -> None:
    with pytest.raises(UnknownEnvironment) as caught:
        find(CATALOG, "pytorch")
    assert caught.value.nearest == ()


def test_a_pattern_keeps_the_order_of_the_catalog() -> None:
    assert matching(CATALOG, "*") == CATALOG.environments
    assert [row.id for row in matching(CATALOG, "tf-2.15-*")] == ["tf-2.15-cuda12.2", "tf-2.15-cpu"]


def test_a_pattern_without_a_match_is_an_unknown_environment() -> None:
    with pytest.raises(UnknownEnvironment):
        matching(CATALOG, "tf-3*")

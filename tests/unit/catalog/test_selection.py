"""What people type finds its row, or the rows that it looks like."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envbuilder.catalog.selection import find, matching, meant, named
from envbuilder.core.errors import UnknownEnvironment, UsageError
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


@pytest.mark.parametrize(
    ("typed", "row"),
    [
        ("tf-2.15", "tf-2.15-cuda12.2"),
        ("tf-1.4", "tf-1.4-cuda8.0"),
        ("tf-2.1", "tf-2.1-cuda10.1"),
        ("tf-2.15-cpu",) * 2,
    ],
)
def test_a_release_stands_for_its_row_with_gpu_support(typed: str, row: str) -> None:
    assert named(CATALOG, typed).id == row
    assert [each.id for each in matching(CATALOG, typed)] == [row]


def test_every_release_of_the_catalog_has_a_short_name() -> None:
    releases = {row.id.rpartition("-")[0] for row in CATALOG.environments}
    assert {named(CATALOG, release).id.rpartition("-")[0] for release in releases} == releases


@pytest.mark.parametrize("typed", ["tf", "tf-2", "tf-2.1*", "tf-2.15-", "tf-2.15-cuda", "", "2.15", "vision"])
def test_a_name_that_is_no_release_stands_for_nothing(typed: str) -> None:
    assert meant(CATALOG, typed) is None
    with pytest.raises(UnknownEnvironment):
        named(CATALOG, typed)


def test_a_release_with_several_rows_with_gpu_support_or_none_is_refused_with_the_candidates() -> None:
    gpu, cpu = (find(CATALOG, name) for name in ("tf-2.15-cuda12.2", "tf-2.15-cpu"))
    several = replace(CATALOG, environments=(gpu, replace(gpu, id="tf-2.15-cuda12.9"), cpu))
    with pytest.raises(UsageError, match="it has 2 with GPU support") as refused:
        meant(several, "tf-2.15")
    assert refused.value.hint == "specify one of tf-2.15-cuda12.2, tf-2.15-cuda12.9, tf-2.15-cpu"
    with pytest.raises(UsageError, match="it has 0 with GPU support"):
        meant(replace(CATALOG, environments=(cpu,)), "tf-2.15")


def test_a_spec_names_a_row_by_its_id_only() -> None:
    with pytest.raises(UnknownEnvironment):
        find(CATALOG, "tf-2.15")

"""Lists of node names: Slurm's notation there and back; nothing else is accepted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.cluster.fleet.node_names import expand_names, fold_names, is_node_name
from envbuilder.core.errors import UsageError

NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,6}(\.[a-z]{1,4})?", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        ("login", ("login",)),
        ("gpu[8-10]", ("gpu8", "gpu9", "gpu10")),
        ("gpu[08-10,3]", ("gpu08", "gpu09", "gpu10", "gpu3")),
        ("r[1-2]n[1-2]", ("r1n1", "r1n2", "r2n1", "r2n2")),
        ("a[1-2]-x, b\n c", ("a1-x", "a2-x", "b", "c")),
        ("a,a,b", ("a", "b")),
        ("me@n1.example", ("me@n1.example",)),
    ],
)
def test_names_and_ranges_are_expanded(text: str, names: tuple[str, ...]) -> None:
    assert expand_names(text) == names


@pytest.mark.parametrize(
    "text",
    ["gpu[1-", "gpu]", "gpu[]", "gpu[a-b]", "../x", "a;rm", "-o", "a[1-2][", "n[1-99999999999]", "a b/c", "$(x)", "@h"],
)
def test_what_is_no_list_of_names_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        expand_names(text)


@given(st.lists(NAMES, max_size=30))
def test_folded_names_expand_to_the_same_names(names: list[str]) -> None:
    assert sorted(expand_names(fold_names(names))) == sorted(set(names))


def test_numbers_of_another_width_are_other_names() -> None:
    assert fold_names(["n1", "n01", "n2", "n02"]) == "n[01-02],n[1-2]"


def test_names_of_files_elsewhere_are_no_names_of_nodes() -> None:
    assert not is_node_name("a/b")
    assert not is_node_name("..")
    assert is_node_name("gpu-001.cluster.example")

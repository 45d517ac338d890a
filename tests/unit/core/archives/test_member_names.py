"""A name of an archive is a path below one directory, or refused."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.archives.member_names import BadArchive, link_below, relative_path


@pytest.mark.parametrize(
    ("name", "path"), [("./a//b/", "a/b"), ("a/./b", "a/b"), (".", "."), ("./", "."), ("..a/b..", "..a/b..")]
)
def test_a_name_becomes_its_shortest_form(name: str, path: str) -> None:
    assert relative_path(name) == path


@pytest.mark.parametrize(
    "name",
    ["", "/", "/a", "..", "a/..", "a/../b", "../a", "a\0b", "a" * 256, "é" * 128, "a/" * 257, "a" * 200 + "/a" * 1700],
    ids=lambda name: f"{name[:8]}-{len(name)}",
)
def test_what_is_no_path_below_a_directory_is_refused(name: str) -> None:
    with pytest.raises(BadArchive):
        relative_path(name)


@pytest.mark.parametrize(
    ("path", "target", "below"),
    [
        ("usr/lib/x", "libx.so.1", "libx.so.1"),
        ("usr/lib/x", "../bin/x", "../bin/x"),
        ("usr/lib/x", "/etc/x", "../../etc/x"),
        ("usr/lib/x", "/usr/lib/y/z", "y/z"),
        ("lib64", "usr/lib64", "usr/lib64"),
        ("usr/x", "../../../../etc/passwd", "../etc/passwd"),
        ("usr/x", "a/../../../../etc", "../etc"),
        ("usr/x", "/", ".."),
        ("x", "/", "."),
        ("x", "..", "."),
    ],
)
def test_a_link_of_a_tree_points_inside_it(path: str, target: str, below: str) -> None:
    assert link_below(path, target) == below


PARTS = st.lists(st.sampled_from(["a", "b", "..", "."]), min_size=1, max_size=6).map("/".join)


@given(
    st.dictionaries(
        st.sampled_from(["l", "a/l", "a/b/l", "a/b/m"]), PARTS.flatmap(lambda t: st.sampled_from([t, f"/{t}"]))
    )
)
def test_no_way_through_links_of_a_tree_leads_out(links: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "deep" / "root"
        (root / "a" / "b").mkdir(parents=True)
        for path, target in links.items():
            (root / path).symlink_to(link_below(path, target))
        ways = [root / path / other for path in links for other in ("", "l", "b/l", "b/m", "a/b/l")]
        assert all(Path(os.path.realpath(way)).is_relative_to(os.path.realpath(root)) for way in ways)

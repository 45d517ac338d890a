"""Where the archives of Debian and Ubuntu have their suites."""

from __future__ import annotations

import pytest

from envbuilder.catalog.environments import BaseKind
from envbuilder.image.base.deb.distributions import DEBIAN, DISTRIBUTIONS, UBUNTU, DebDistribution, security_archive


@pytest.mark.parametrize(
    ("mirror", "security"),
    [
        ("http://mirror.example/debian", "http://mirror.example/debian-security"),
        ("http://mirror.example/mirrors/own", "http://mirror.example/mirrors/own-security"),
        ("file:///srv/debian", "file:///srv/debian-security"),
        (
            "http://snapshot.example/archive/debian/20251122T000000Z",
            "http://snapshot.example/archive/debian-security/20251122T000000Z",
        ),
    ],
)
def test_security_updates_are_beside_the_main_archive(mirror: str, security: str) -> None:
    assert security_archive(mirror) == security


@pytest.mark.parametrize(
    ("distribution", "places"),
    [
        (DEBIAN, [("x", False), ("x-updates", False), ("x-security", True), ("x/updates", True)]),
        (UBUNTU, [("x", False), ("x-updates", False), ("x-security", False)]),
    ],
)
def test_a_suite_has_updates_and_security_updates(
    distribution: DebDistribution, places: list[tuple[str, bool]]
) -> None:
    parts = distribution.parts("x")
    assert [(place.directory, place.beside) for part in parts for place in part.places] == places
    assert [part.name for part in parts if part.required] == ["x"]


def test_every_kind_of_tree_has_a_distribution() -> None:
    assert {*DISTRIBUTIONS} == {kind for kind in BaseKind if kind.is_tree}
    assert all(each.kind is kind for kind, each in DISTRIBUTIONS.items())

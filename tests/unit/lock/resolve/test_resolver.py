"""A resolution is made once for each request and index."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from envbuilder.core.versions import Release
from envbuilder.lock.closures import Chosen
from envbuilder.lock.resolve.resolver import RememberedResolutions, Resolution

WANTED = Resolution(python=Release("3.11"), glibc=Release("2.36"), requirements=("six",), cutoff=date(2024, 1, 1))


class Counting:
    def __init__(self) -> None:
        self.asked: list[Resolution] = []

    def resolve(self, wanted: Resolution) -> tuple[Chosen, ...]:
        self.asked.append(wanted)
        return ()


def test_the_same_request_is_resolved_once_for_an_index() -> None:
    resolver, known = Counting(), RememberedResolutions()
    other = replace(WANTED, preferred=("six==1.16.0",))
    for wanted in (WANTED, other, WANTED):
        assert known.of(resolver, "one").resolve(wanted) == ()
    assert resolver.asked == [WANTED, other]
    known.of(resolver, "two").resolve(WANTED)
    assert len(resolver.asked) == 3

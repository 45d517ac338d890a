"""Properties of a comparison, and the format of sizes in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from envbuilder.catalog.environments import Catalog
from envbuilder.diagnostics.compare.comparison import Difference, Effect, Side, Where

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Both sides, with the catalog for their effects on TensorFlow."""

    a: Side
    b: Side
    catalog: Catalog

    @property
    def sides(self) -> tuple[tuple[Where, Side, Side], ...]:
        """Each side with its place and the other one."""
        return (Where.A, self.a, self.b), (Where.B, self.b, self.a)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedProperty(Generic[T]):
    """One thing to compare.

    Attributes:
        name: In a word or two.
        read: Returns the value of a side; None if unknown.
        show: Returns the value in words.
        effects: Returns the effects of a difference; only called if both sides are known and differ.
        is_software: True if a lock contains it.
        is_same: Returns True if two values count as equal.
    """

    name: str
    read: Callable[[Side], T | None]
    show: Callable[[T], str] = str
    effects: Callable[[Pair], Iterator[Effect]] = lambda _: iter(())
    is_software: bool = False
    is_same: Callable[[T, T], bool] = lambda one, other: one == other

    def compare(self, pair: Pair) -> Difference | None:
        """Return the difference of the sides, with equal texts if there is none; None if neither is known."""
        a, b = self.read(pair.a), self.read(pair.b)
        if a is None and b is None:
            return None
        shown = ("" if a is None else self.show(a)), ("" if b is None else self.show(b))
        if a is None or b is None:
            return Difference(topic=self.name, a=shown[0], b=shown[1])
        if self.is_same(a, b):
            return Difference(topic=self.name, a=shown[0], b=shown[0])
        return Difference(topic=self.name, a=shown[0], b=shown[1], effects=tuple(self.effects(pair)))


def nearly(one: int, other: int) -> bool:
    """Return True if two sizes are equal within the 2 % that a driver reserves."""
    return abs(one - other) * 50 <= max(one, other)

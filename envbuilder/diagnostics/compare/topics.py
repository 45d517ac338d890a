"""What a topic of a comparison is, and how sizes are written in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from envbuilder.catalog.environments import Catalog
from envbuilder.diagnostics.compare.comparison import Difference, Effect, Side, Where

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Both sides, and the catalog that knows what TensorFlow makes of them."""

    a: Side
    b: Side
    catalog: Catalog

    @property
    def sides(self) -> tuple[tuple[Where, Side, Side], ...]:
        """Each side with its place and the other one."""
        return (Where.A, self.a, self.b), (Where.B, self.b, self.a)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic(Generic[T]):
    """One thing to compare.

    Attributes:
        name: In a word or two.
        read: What a side has; None where that is not known.
        show: It in words.
        effects: What a difference does; only asked when both sides are known and differ.
        is_software: Whether a lock can tell.
        is_same: Whether two values count as the same.
    """

    name: str
    read: Callable[[Side], T | None]
    show: Callable[[T], str] = str
    effects: Callable[[Pair], Iterator[Effect]] = lambda _: iter(())
    is_software: bool = False
    is_same: Callable[[T, T], bool] = lambda one, other: one == other

    def look(self, pair: Pair) -> Difference | None:
        """How the sides differ, with equal texts where they do not; None when neither is known."""
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
    """Whether two sizes are the same but for what a driver keeps for itself: 2 %."""
    return abs(one - other) * 50 <= max(one, other)

"""One fact of the probe, seen or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from envbuilder.core.observation import NOT_ASKED, Fact, Seen, Unseen
from envbuilder.diagnostics.probe.json_fields import Item

T = TypeVar("T")


def read_fact(item: Item, read: Callable[[Item], T]) -> Fact[T]:
    """A fact with its value through a reader; what is not in the document was not asked for.

    Raises:
        WrongField: It has another shape.
    """
    if item.value is None:
        return NOT_ASKED
    seconds = item["seconds"].number() or 0.0
    if item["ok"].flag():
        return Seen(value=read(item["value"]), seconds=seconds)
    error = item["error"]
    return Unseen(
        kind=error["type"].text(),
        message=error["message"].text(),
        trace=tuple(entry.text() for entry in error["trace"].items()),
        seconds=seconds,
    )

"""Typed access to a JSON document of which nothing is certain; the first thing that is wrong ends the reading."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from envbuilder.core.versions import Release

T = TypeVar("T")


class WrongField(Exception):
    """A field is not what the probe prints.

    Attributes:
        path: Dotted path of the field; empty for the document itself.
        problem: What is wrong with it.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class Item:
    """One value of the document, with its path. Every accessor raises `WrongField` on another type."""

    def __init__(self, value: object, path: str = "") -> None:
        self.value = value
        self.path = path

    def __getitem__(self, name: str) -> Item:
        """A field of a mapping; a field that is not there has the value None."""
        return Item(self.mapping().get(name), f"{self.path}.{name}" if self.path else name)

    def wrong(self, wanted: str) -> WrongField:
        """The error for a value that is not what it should be."""
        return WrongField(self.path, f"must be {wanted}")

    def mapping(self) -> dict[str, object]:
        """A mapping from names to values."""
        if isinstance(self.value, dict):
            return self.value
        raise self.wrong("an object")

    def members(self) -> tuple[tuple[str, Item], ...]:
        """Name and value of each field of a mapping, sorted by name."""
        return tuple((printable(name), self[name]) for name in sorted(self.mapping()))

    def items(self) -> tuple[Item, ...]:
        """The values of a list."""
        if isinstance(self.value, list):
            return tuple(Item(value, f"{self.path}[{index}]") for index, value in enumerate(self.value))
        raise self.wrong("a list")

    def text(self) -> str:
        """Text; characters that no encoding can write are replaced."""
        if isinstance(self.value, str):
            return printable(self.value)
        raise self.wrong("text")

    def flag(self) -> bool:
        """True or false."""
        if isinstance(self.value, bool):
            return self.value
        raise self.wrong("true or false")

    def integer(self) -> int:
        """A whole number."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return self.value
        raise self.wrong("a whole number")

    def number(self) -> float | None:
        """A number; None for `"nan"` and `"inf"`, which the probe writes as text."""
        if isinstance(self.value, str):
            return None
        if not isinstance(self.value, int | float) or isinstance(self.value, bool):
            raise self.wrong("a number")
        try:
            return float(self.value) if math.isfinite(self.value) else None
        except OverflowError:
            return None

    def release(self) -> Release:
        """A dotted release number."""
        try:
            return Release(self.text())
        except ValueError as error:
            raise WrongField(self.path, str(error)) from error

    def maybe(self, read: Callable[[Item], T]) -> T | None:
        """The value through a reader; None when it is absent, null or empty text."""
        return None if self.value is None or self.value == "" else read(self)


def printable(text: str) -> str:
    """The text without lone surrogates, which JSON can carry and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")

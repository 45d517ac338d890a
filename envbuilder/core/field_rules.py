"""Rules of a field that a type hint cannot express, for `Annotated`; see `core/structure.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Parsed:
    """A value that a function parses, such as `Annotated[str, Parsed(normalized)]`.

    Attributes:
        parse: Converts the document's value; its `ValueError` is the problem.
        of: Type in the document; `object` for any.
        write: Converts the value into the document's.
    """

    parse: Callable[[Any], object]
    of: Any = str
    write: Callable[[Any], object] = str


@dataclass(frozen=True, slots=True)
class At:
    """Position of a field in its object, instead of its name; without names, its fields are those of the object."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)


@dataclass(frozen=True, slots=True)
class Inside:
    """A value wrapped in an object with this one field."""

    name: str


@dataclass(frozen=True, slots=True)
class Entries:
    """A mapping that is read as a tuple, of pairs or of dataclasses whose two fields are name and value.

    Attributes:
        ordered: Sort by name, instead of keeping the order of the document.
    """

    ordered: bool = False


@dataclass(frozen=True, slots=True)
class Tagged:
    """A union of dataclasses, one for each value of the field `name`, in the order of the union."""

    name: str
    values: tuple[str | bool, ...]

    def __init__(self, name: str, *values: str | bool) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", values)


@dataclass(frozen=True, slots=True)
class Unique:
    """A list without two entries that have the same values in these fields."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)


@dataclass(frozen=True, slots=True)
class NotEmpty:
    """A list that has at least one entry."""


@dataclass(frozen=True, slots=True)
class Sorted:
    """A list whose order has no meaning; its values are sorted.

    Attributes:
        by: Attribute of the values to sort by; empty for the values themselves.
    """

    by: str = ""


@dataclass(frozen=True, slots=True)
class Named:
    """A value with an `id` that the document names by it; `load` receives the known values."""

    table: str


@dataclass(frozen=True, slots=True)
class When:
    """A field that is present only if the preceding field `name` has one of some texts.

    Attributes:
        required: Whether the field is required then; otherwise it may have its default.
    """

    name: str
    values: tuple[str, ...]
    required: bool

    def __init__(self, name: str, *values: str, required: bool = True) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "required", required)


@dataclass(frozen=True, slots=True)
class Omitted:
    """A field that is in no document; it has its default."""

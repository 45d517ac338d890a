"""State of one conversion: its mismatches, and the tables that it refers to."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One value that does not match its hint.

    Attributes:
        path: Names of fields and indexes of entries, from the root of the document.
        hint: Correct value; may be empty.
    """

    path: Path
    problem: str
    hint: str = ""

    @property
    def field(self) -> str:
        """Path as text, such as `bases[1].python`."""
        text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return text.removeprefix(".")


class Mismatched(ValueError):
    """A document does not match its type.

    Attributes:
        mismatches: All of them, in the order of the fields.
    """

    def __init__(self, *mismatches: Mismatch) -> None:
        super().__init__("; ".join(f"{each.field}: {each.problem}" for each in mismatches))
        self.mismatches = mismatches


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Differences between the kinds of documents.

    Attributes:
        mapping: Problem text for a value that should be a mapping.
        text: Checks or corrects every text; its `ValueError` is the problem.
        closed: Whether an unknown field is a mismatch, and an empty text is not an unknown value.
    """

    mapping: str = "must be an object"
    text: Callable[[str], str] = str
    closed: bool = False


Tables: TypeAlias = Mapping[str, Mapping[str, object]]
"""Values that a document refers to, by name of their table and by id."""


class Wrong:
    """Marker for a refused value, or for the default of a field that has none."""


WRONG: Final = Wrong()


class Reading:
    """State of one call of `load`: the problems so far, and the known names of each mapping."""

    def __init__(self, dialect: Dialect, tables: Tables) -> None:
        self.dialect = dialect
        self.tables = tables
        self.mismatches: list[Mismatch] = []
        self._opened: dict[Path, tuple[Mapping[str, object], set[str]]] = {}

    def refuse(self, path: Path, problem: str, hint: str = "") -> Wrong:
        """Record a problem; return the marker for the refused value."""
        self.mismatches.append(Mismatch(path=path, problem=problem, hint=hint))
        return WRONG

    def call(self, function: Callable[[Any], object], value: object, path: Path) -> object:
        """Return the result of a function; its `ValueError` is a problem, its `Mismatched` one for each mismatch."""
        try:
            return function(value)
        except Mismatched as error:
            for each in error.mismatches:
                self.refuse((*path, *each.path), each.problem, each.hint)
            return WRONG
        except ValueError as error:
            return self.refuse(path, str(error))

    def mapping(self, value: object, path: Path, known: set[str] | None) -> Mapping[str, object] | None:
        """Return a value that is a mapping, and record its known names (None: any)."""
        if not isinstance(value, dict):
            self.refuse(path, self.dialect.mapping)
            return None
        if known is not None:
            self._opened.setdefault(path, (value, set()))[1].update(known)
        return value

    def refuse_unknown(self) -> None:
        """Record every unknown field, with similar names as suggestions."""
        for path, (mapping, known) in self._opened.items() if self.dialect.closed else ():
            for name in mapping:
                if name not in known:
                    near = difflib.get_close_matches(name, sorted(known), 1)
                    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(known))}"
                    self.refuse((*path, name), "is not a known field", hint)


@dataclass(frozen=True, slots=True)
class Converter:
    """Conversion of the values of one hint.

    Attributes:
        load: Returns the value for a plain one at a path, or `WRONG` after it recorded a problem.
        dump: Returns the plain value.
    """

    load: Callable[[Any, Path, Reading], object]
    dump: Callable[[Any], object]


Converters: TypeAlias = Callable[[Any], Converter]
"""Returns the converter for a type hint."""

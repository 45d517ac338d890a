"""Typed access to the fields of a document, with all faults raised together."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from datetime import date
from enum import StrEnum
from typing import TypeGuard, TypeVar

from envbuilder.core.errors import Fault, InvalidInput
from envbuilder.core.versions import Release
from envbuilder.core.yaml.documents import Mapping, Node, Scalar, Sequence, read

T = TypeVar("T")
S = TypeVar("S")
E = TypeVar("E", bound=StrEnum)


class Fields:
    """Fields of one mapping.

    Every accessor records a fault and returns a harmless value of the right type if the field is missing or wrong, so
    that one pass finds all faults; `Reader.finish` then records unknown fields and raises all faults together, so
    that no partially read value is used.

    Attributes:
        line: Line of the mapping.
        path: Dotted path of the mapping in its document.
    """

    def __init__(self, reader: Reader, node: Mapping, path: str) -> None:
        self._reader = reader
        self._node = node
        self._entries = dict(node.entries)
        self._known: set[str] = set()
        self.line = node.line
        self.path = path
        reader.watch(self)

    def fault(self, name: str, problem: str, hint: str = "") -> None:
        """Record a fault of a field."""
        node = self._entries.get(name)
        self._reader.fault(node.line if node else self.line, self._at(name), problem, hint)

    @property
    def is_faulty(self) -> bool:
        """True if the document has a fault so far."""
        return self._reader.is_faulty

    def fault_at(self, path: str, problem: str) -> None:
        """Record a fault at a dotted path such as `bases[1].python`, with the nearest line."""
        self._reader.fault(line_of(self._node, path), path, problem)

    def has(self, name: str) -> bool:
        """Return True if the field is present and not null."""
        self._known.add(name)
        node = self._entries.get(name)
        return node is not None and not (isinstance(node, Scalar) and node.value is None)

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text on one line; required unless there is a default."""
        return self.value(name, str, fallback="", default=default)

    def value(self, name: str, parse: Callable[[str], T], *, fallback: T, default: T | None = None) -> T:
        """Return the value that `parse` makes of a text; its `ValueError` becomes the fault.

        Args:
            name: The field.
            parse: Parses the text.
            fallback: Harmless value after a fault.
            default: Used if the field is absent; None makes the field required.
        """
        if self.has(name):
            return self._reader.scalar(self._entries[name], self._at(name), parse, fallback)
        if default is None:
            self.fault(name, "is missing")
            return fallback
        return default

    def release(self, name: str, default: Release | None = None) -> Release:
        """Return a dotted release number."""
        return self.value(name, Release, fallback=Release("0"), default=default)

    def day(self, name: str) -> date:
        """Return a day, `"2023-06-01"`."""
        return self.value(name, date.fromisoformat, fallback=date.min)

    def flag(self, name: str, *, default: bool) -> bool:
        """Return a boolean."""
        if not self.has(name):
            return default
        node = self._entries[name]
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        self.fault(name, "must be true or false")
        return default

    def integer(
        self, name: str, default: int | None = None, *, least: int | None = None, most: int | None = None, why: str = ""
    ) -> int:
        """Return an integer.

        Args:
            name: The field.
            default: Used if the field is absent; None makes the field required.
            least: Smallest number; given together with `most`.
            most: Largest number; None for any.
            why: Reason for the bounds, for the fault.
        """
        if not self.has(name):
            if default is None:
                self.fault(name, "is missing")
            return default or 0
        node = self._entries[name]
        if not isinstance(node, Scalar) or not isinstance(node.value, int) or isinstance(node.value, bool):
            self.fault(name, "must be a whole number")
            return default or 0
        if least is not None and most is not None and not least <= node.value <= most:
            self.fault(name, f"must be {least} to {most}{f': {why}' if why else ''}")
        return node.value

    def choice(self, name: str, choices: type[E], default: E | None = None) -> E:
        """Return one value of a string enumeration."""

        def parse(text: str) -> E:
            try:
                return choices(text)
            except ValueError:
                names = ", ".join(member.value for member in choices)
                raise ValueError(f"{text!r} is none of {names}") from None

        return self.value(name, parse, fallback=next(iter(choices)), default=default)

    def texts(self, name: str, parse: Callable[[str], T], *, required: bool = False) -> tuple[T, ...]:
        """Return a list of texts in file order; empty if absent."""
        if not self.has(name):
            if required:
                self.fault(name, "is missing")
            return ()
        return self._reader.texts(self._entries[name], self._at(name), parse)

    def children(self, name: str, *, required: bool = False) -> tuple[Fields, ...]:
        """Return a list of mappings; empty if absent."""
        if not self.has(name):
            if required:
                self.fault(name, "is missing")
            return ()
        node = self._entries[name]
        if not isinstance(node, Sequence):
            self.fault(name, "must be a list")
            return ()
        if required and not node.items:
            self.fault(name, "must have at least one entry")
        return tuple(
            Fields(self._reader, item, f"{self._at(name)}[{index}]")
            for index, item in enumerate(node.items)
            if self._reader.is_mapping(item, f"{self._at(name)}[{index}]")
        )

    def child(self, name: str) -> Fields:
        """Return a mapping; record a fault if it is absent."""
        if not self.has(name):
            self.fault(name, "is missing")
            return Fields(self._reader, Mapping(line=self.line, entries=()), self._at(name)).muted()
        node = self._entries[name]
        if not self._reader.is_mapping(node, self._at(name)):
            return Fields(self._reader, Mapping(line=node.line, entries=()), self._at(name)).muted()
        return Fields(self._reader, node, self._at(name))

    def pairs(self, name: str, parse: Callable[[str], T]) -> tuple[tuple[str, T], ...]:
        """Return a mapping from names to texts, in file order; empty if absent."""
        if not self.has(name):
            return ()
        node = self._entries[name]
        if not self._reader.is_mapping(node, self._at(name)):
            return ()
        read = [
            (key, self._reader.scalar(value, f"{self._at(name)}.{key}", parse, None)) for key, value in node.entries
        ]
        return tuple((key, value) for key, value in read if value is not None)

    def node(self, name: str) -> Node | None:
        """Return the node of a field that may have several shapes; None if it is absent."""
        return self._entries[name] if self.has(name) else None

    def read(self, node: Node, path: str, parse: Callable[[str], T]) -> T | None:
        """Parse one text of such a field; record a fault and return None if it is refused."""
        return self._reader.scalar(node, path, parse, None)

    def muted(self) -> Fields:
        """Return the same fields without further faults, after their absence was reported."""
        self._reader = Reader(self._reader.file)
        return self

    def report_unknown(self) -> None:
        """Record every unknown field, with similar names as suggestions."""
        for name, node in self._entries.items():
            if name not in self._known:
                near = difflib.get_close_matches(name, sorted(self._known), 1)
                hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(self._known))}"
                self._reader.fault(node.line, self._at(name), "is not a known field", hint)

    def _at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


class Reader:
    """Collector of the faults of one document."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._faults: list[Fault] = []
        self._opened: list[Fields] = []

    def document(self, text: str) -> Fields:
        """Return the fields of a YAML document; record its faults of spelling.

        Raises:
            InvalidInput: Not YAML.
        """
        document = read(text, self.file)
        self._faults.extend(document.faults)
        return self.root(document.root)

    def root(self, node: Node) -> Fields:
        """Return the fields of a parsed document."""
        if self.is_mapping(node, ""):
            return Fields(self, node, "")
        return Fields(self, Mapping(line=1, entries=()), "").muted()

    def fault(self, line: int, field: str, problem: str, hint: str = "") -> None:
        """Record a fault; keep only the first of each field, which is the cause of the others."""
        if not any(known.field == field and known.line == line for known in self._faults):
            self._faults.append(Fault(file=self.file, line=line, field=field, problem=problem, hint=hint))

    @property
    def is_faulty(self) -> bool:
        """True if a fault was recorded."""
        return bool(self._faults)

    def watch(self, fields: Fields) -> None:
        """Record a mapping, to check for unknown fields at the end."""
        self._opened.append(fields)

    def close(self) -> tuple[Fault, ...]:
        """Record all unknown fields, and return every fault of this document."""
        for fields in self._opened:
            fields.report_unknown()
        self._opened.clear()
        return tuple(self._faults)

    def finish(self) -> None:
        """Close the document and raise all its faults together, if there are any.

        Raises:
            InvalidInput: With every fault of this document.
        """
        faults = self.close()
        if faults:
            raise InvalidInput(faults)

    def is_mapping(self, node: Node, path: str) -> TypeGuard[Mapping]:
        """Return True if a node is a mapping; record a fault if not."""
        if isinstance(node, Mapping):
            return True
        self.fault(node.line, path, "must have fields (`name: value`)")
        return False

    def scalar(self, node: Node, path: str, parse: Callable[[str], T], spare: S) -> T | S:
        """Parse one text; record a fault and return the spare value if it is refused."""
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            self.fault(node.line, path, "must be text", _quoted(node))
            return spare
        if not node.value.isprintable():
            self.fault(node.line, path, "must be printable text on one line")
            return spare
        try:
            return parse(node.value)
        except ValueError as error:
            self.fault(node.line, path, str(error))
            return spare

    def texts(self, node: Node, path: str, parse: Callable[[str], T]) -> tuple[T, ...]:
        """Parse a list of texts; record a fault for refused entries and leave them out."""
        if not isinstance(node, Sequence):
            self.fault(node.line, path, "must be a list")
            return ()
        read = (self.scalar(item, f"{path}[{index}]", parse, None) for index, item in enumerate(node.items))
        return tuple(value for value in read if value is not None)


def line_of(node: Node, path: str) -> int:
    """Return the line of the node at a dotted path, or of its deepest existing ancestor."""
    while path:
        key, rest = path, ""
        if not (isinstance(node, Mapping) and path in dict(node.entries)):
            _, key, rest = re.split(r"[.\[\]]*([^.\[\]]+)[.\[\]]*", path, maxsplit=1)
        if isinstance(node, Mapping):
            found = dict(node.entries).get(key)
        elif isinstance(node, Sequence) and key.isdigit() and int(key) < len(node.items):
            found = node.items[int(key)]
        else:
            found = None
        if found is None:
            break
        node, path = found, rest
    return node.line


def _quoted(node: Node) -> str:
    if isinstance(node, Scalar) and node.value is not None:
        shown = str(node.value).lower() if isinstance(node.value, bool) else node.value
        return f'write "{shown}"'
    return ""

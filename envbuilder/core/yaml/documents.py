"""YAML text as nodes with line numbers, without ambiguous constructs.

PyYAML silently uses the last of two equal keys, and reads `3.10` as the number 3.1 and `no` as false. Documents with
such constructs are refused here, with the line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import yaml

from envbuilder.core.errors import Fault, InvalidInput

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVER = yaml.SafeLoader("")
_TEXT = "tag:yaml.org,2002:str"
_SURPRISES = {
    "tag:yaml.org,2002:float": "a number with a fraction",
    "tag:yaml.org,2002:timestamp": "a date by some readers and as text by others",
    "tag:yaml.org,2002:int": "a number in another base",
    "tag:yaml.org,2002:bool": "true or false",
}
_BOOLEANS = {"true": True, "false": False}
_MAX_DEPTH = 40
_LONGEST = 4 << 20
"""Maximum of characters of a document; the longest file of the catalog has a quarter of a million."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """Text, integer, boolean or null."""

    line: int
    value: str | int | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """A list."""

    line: int
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """Keys and values; keys are text and unique."""

    line: int
    entries: tuple[tuple[str, Node], ...]


Node: TypeAlias = Scalar | Sequence | Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """A document with its faults of spelling.

    Attributes:
        root: Top node; in place of a faulty value, its text.
        faults: Ambiguous constructs, in document order.
    """

    root: Node
    faults: tuple[Fault, ...]


def parse(text: str, file: str) -> Node:
    """Parse one YAML document without ambiguous constructs.

    Raises:
        InvalidInput: Not YAML, or ambiguous; all faults are listed.
    """
    document = read(text, file)
    if document.faults:
        raise InvalidInput(document.faults)
    return document.root


def read(text: str, file: str) -> ParsedDocument:
    """Parse one YAML document, and continue after ambiguous constructs, so that the fields can be checked too.

    Raises:
        InvalidInput: Not YAML, nested too deep, or with an alias.
    """
    if len(text) > _LONGEST:
        problem = f"longer than {_LONGEST} characters"
        raise InvalidInput((Fault(file=file, line=0, field="", problem=problem),))
    try:
        return _Reader(text, file).document()
    except (yaml.YAMLError, ValueError) as error:
        raise InvalidInput((_syntax_fault(error, file),)) from error


def _syntax_fault(error: Exception, file: str) -> Fault:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return Fault(file=file, line=mark.line + 1 if mark else 0, field="", problem=f"not YAML: {problem}")


class _Reader:
    """Makes the nodes of one document in one pass over the events of the parser.

    The composer of PyYAML is not used: it recurses (in C, without a limit) and expands aliases.
    """

    def __init__(self, text: str, file: str) -> None:
        self._events: Iterator[Any] = iter(yaml.parse(text, Loader=_LOADER))
        self._file = file
        self._faults: list[Fault] = []

    def document(self) -> ParsedDocument:
        """Return the only document of the stream."""
        root: Node = Mapping(line=1, entries=())
        next(self._events)  # StreamStart
        if isinstance(next(self._events), yaml.DocumentStartEvent):
            root = self._node(next(self._events), "", 0)
            next(self._events)  # DocumentEnd
            after = next(self._events)
            if isinstance(after, yaml.DocumentStartEvent):
                raise self._refusal(after, "not YAML: more than one document")
        return ParsedDocument(root=root, faults=tuple(self._faults))

    def _node(self, event: Any, field: str, depth: int) -> Node:  # noqa: ANN401
        line = _line(event)
        if isinstance(event, yaml.ScalarEvent):
            return Scalar(line=line, value=self._scalar(event, field))
        if isinstance(event, yaml.AliasEvent):
            raise self._refusal(event, "an alias; write the value again")
        if depth == _MAX_DEPTH:
            raise self._refusal(event, f"nested deeper than {_MAX_DEPTH} levels")
        if isinstance(event, yaml.SequenceStartEvent):
            return Sequence(line=line, items=tuple(self._items(field, depth + 1)))
        return Mapping(line=line, entries=tuple(self._entries(field, depth + 1).items()))

    def _items(self, field: str, depth: int) -> Iterator[Node]:
        index = 0
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            yield self._node(event, f"{field}[{index}]", depth)
            index += 1

    def _entries(self, field: str, depth: int) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        while not isinstance(key := next(self._events), yaml.MappingEndEvent):
            name = key.value if _is_plain_key(key) else None
            if name in entries:
                self._fault(key, _join(field, name), "this key is a duplicate")
            elif name is None:
                self._fault(key, field, "a key must be plain text")
            elif not name.isprintable():
                self._fault(key, field, "a key must be printable text on one line")
            else:
                entries[name] = self._node(next(self._events), _join(field, name), depth)
                continue
            # The faults of what stands below it would only follow from this one.
            known = len(self._faults)
            if not isinstance(key, yaml.ScalarEvent):
                self._node(key, field, depth)
            self._node(next(self._events), field, depth)
            del self._faults[known:]
        return entries

    def _scalar(self, event: Any, field: str) -> str | int | bool | None:  # noqa: ANN401
        text = str(event.value)
        tag = _tag(event)
        if tag == "tag:yaml.org,2002:null":
            return None
        if tag == "tag:yaml.org,2002:int" and _is_plain_integer(text):
            return int(text)
        if tag == "tag:yaml.org,2002:bool" and text in _BOOLEANS:
            return _BOOLEANS[text]
        if tag in _SURPRISES:
            self._fault(event, field, f"{text} would be read as {_SURPRISES[tag]}", f'write "{text}"')
        return text

    def _fault(self, event: Any, field: str, problem: str, hint: str = "") -> None:  # noqa: ANN401
        self._faults.append(Fault(file=self._file, line=_line(event), field=field, problem=problem, hint=hint))

    def _refusal(self, event: Any, problem: str) -> InvalidInput:  # noqa: ANN401
        return InvalidInput((Fault(file=self._file, line=_line(event), field="", problem=problem),))


def _line(event: Any) -> int:  # noqa: ANN401  the events of the parser in C have no types
    return int(event.start_mark.line) + 1


def _is_plain_key(event: Any) -> bool:  # noqa: ANN401
    return isinstance(event, yaml.ScalarEvent) and _tag(event) != "tag:yaml.org,2002:merge"


def _tag(event: Any) -> str:  # noqa: ANN401
    if event.tag in {None, "!"}:
        return _plain_tag(event.value) if event.implicit[0] else _TEXT
    return str(event.tag)


@lru_cache(maxsize=4096)
def _plain_tag(text: str) -> str:
    """Return the type that YAML gives to a text without quotes."""
    return str(_RESOLVER.resolve(yaml.ScalarNode, text, (True, False)))  # type: ignore[no-untyped-call]


def _is_plain_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19 and str(int(text)) == text


def _join(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name

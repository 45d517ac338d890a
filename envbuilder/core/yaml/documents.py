"""YAML text as nodes with line numbers, without ambiguous constructs.

PyYAML silently uses the last of two equal keys, and reads `3.10` as the number 3.1 and `no` as false. Documents with
such constructs are refused here, with the line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import yaml

from envbuilder.core.errors import Fault, InvalidInput

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
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
class Document:
    """A document with its faults of spelling.

    Attributes:
        root: Top node; in place of a faulty value, its text.
        faults: Ambiguous constructs, in document order.
    """

    root: Node
    faults: tuple[Fault, ...]


def parse(text: str, file: str) -> Node:
    """Parse one YAML document without ambiguous constructs.

    Args:
        text: The document.
        file: Its path, for the faults.

    Raises:
        InvalidInput: Not YAML, or ambiguous; all faults are listed.
    """
    document = read(text, file)
    if document.faults:
        raise InvalidInput(document.faults)
    return document.root


def read(text: str, file: str) -> Document:
    """Parse one YAML document, and continue after ambiguous constructs, so that the fields can be checked too.

    Raises:
        InvalidInput: Not YAML, nested too deep, or with an alias.
    """
    if len(text) > _LONGEST:
        problem = f"longer than {_LONGEST} characters"
        raise InvalidInput((Fault(file=file, line=0, field="", problem=problem),))
    try:
        _refuse_traps(text, file)
        loader = _LOADER(text)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidInput((_syntax_fault(error, file),)) from error
    if root is None:
        return Document(root=Mapping(line=1, entries=()), faults=())
    faults: list[Fault] = []
    node = _convert(root, "", file, faults)
    return Document(root=node, faults=tuple(faults))


def _refuse_traps(text: str, file: str) -> None:
    """Check the events before nodes are built, which recurses (in C, without a limit) and expands aliases."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        problem = "an alias; write the value again" if isinstance(event, yaml.AliasEvent) else ""
        problem = f"nested deeper than {_MAX_DEPTH} levels" if depth > _MAX_DEPTH else problem
        if problem:
            line = event.start_mark.line + 1 if event.start_mark else 0
            raise InvalidInput((Fault(file=file, line=line, field="", problem=problem),))


def _syntax_fault(error: Exception, file: str) -> Fault:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return Fault(file=file, line=mark.line + 1 if mark else 0, field="", problem=f"not YAML: {problem}")


def _convert(node: yaml.Node, field: str, file: str, faults: list[Fault]) -> Node:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        return Sequence(
            line=line,
            items=tuple(_convert(item, f"{field}[{index}]", file, faults) for index, item in enumerate(node.value)),
        )
    if isinstance(node, yaml.MappingNode):
        return Mapping(line=line, entries=tuple(_entries(node, field, file, faults)))
    return Scalar(line=line, value=_scalar(node, field, file, faults))


def _entries(node: yaml.MappingNode, field: str, file: str, faults: list[Fault]) -> list[tuple[str, Node]]:
    entries: dict[str, Node] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
            faults.append(Fault(file=file, line=line, field=field, problem="a key must be plain text"))
            continue
        name = key.value
        if not name.isprintable():
            faults.append(Fault(file=file, line=line, field=field, problem="a key must be printable text on one line"))
            continue
        if name in entries:
            faults.append(Fault(file=file, line=line, field=_join(field, name), problem="this key is a duplicate"))
            continue
        entries[name] = _convert(value, _join(field, name), file, faults)
    return list(entries.items())


def _scalar(node: yaml.Node, field: str, file: str, faults: list[Fault]) -> str | int | bool | None:
    text = str(node.value)
    if node.tag == "tag:yaml.org,2002:null":
        return None
    if node.tag == "tag:yaml.org,2002:int" and _is_plain_integer(text):
        return int(text)
    if node.tag == "tag:yaml.org,2002:bool" and text in _BOOLEANS:
        return _BOOLEANS[text]
    if node.tag in _SURPRISES:
        problem = f"{text} would be read as {_SURPRISES[node.tag]}"
        line = node.start_mark.line + 1
        faults.append(Fault(file=file, line=line, field=field, problem=problem, hint=f'write "{text}"'))
    return text


def _is_plain_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19 and str(int(text)) == text


def _join(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name

"""YAML text to nodes that know their line, without YAML's surprises.

PyYAML silently lets the last of two equal keys win, reads `3.10` as the number 3.1 and `no` as false. A document with
such a thing is refused here, with the line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import yaml

from envbuilder.errors import Fault, InvalidInput

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SURPRISES = {
    "tag:yaml.org,2002:float": "a number with a fraction",
    "tag:yaml.org,2002:timestamp": "a date by some readers and as text by others",
    "tag:yaml.org,2002:int": "a number in another base",
    "tag:yaml.org,2002:bool": "true or false",
}
_BOOLEANS = {"true": True, "false": False}
_MAX_DEPTH = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """Text, an integer, a truth value or nothing."""

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


def parse(text: str, file: str) -> Node:
    """Read one YAML document.

    Args:
        text: The document.
        file: Its path, for the faults.

    Raises:
        InvalidInput: Not YAML, or one of the surprises; all of them are listed.
    """
    try:
        loader = _LOADER(text)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidInput((_syntax_fault(error, file),)) from error
    if root is None:
        return Mapping(line=1, entries=())
    faults: list[Fault] = []
    node = _convert(root, "", file, faults, depth=0)
    if faults:
        raise InvalidInput(tuple(faults))
    return node


def _syntax_fault(error: Exception, file: str) -> Fault:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return Fault(file=file, line=mark.line + 1 if mark else 0, field="", problem=f"not YAML: {problem}")


def _convert(node: yaml.Node, field: str, file: str, faults: list[Fault], *, depth: int) -> Node:
    line = node.start_mark.line + 1
    if depth > _MAX_DEPTH:
        faults.append(Fault(file=file, line=line, field=field, problem=f"nested deeper than {_MAX_DEPTH} levels"))
        return Scalar(line=line, value=None)
    if isinstance(node, yaml.SequenceNode):
        return Sequence(
            line=line,
            items=tuple(
                _convert(item, f"{field}[{index}]", file, faults, depth=depth + 1)
                for index, item in enumerate(node.value)
            ),
        )
    if isinstance(node, yaml.MappingNode):
        return Mapping(line=line, entries=tuple(_entries(node, field, file, faults, depth)))
    return Scalar(line=line, value=_scalar(node, field, file, faults))


def _entries(node: yaml.MappingNode, field: str, file: str, faults: list[Fault], depth: int) -> list[tuple[str, Node]]:
    entries: dict[str, Node] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
            faults.append(Fault(file=file, line=line, field=field, problem="a key must be plain text"))
            continue
        name = key.value
        if name in entries:
            faults.append(Fault(file=file, line=line, field=_join(field, name), problem="this key stands here twice"))
            continue
        entries[name] = _convert(value, _join(field, name), file, faults, depth=depth + 1)
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

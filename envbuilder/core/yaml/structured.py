"""Conversion of YAML documents to dataclasses, with a line for every fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from envbuilder.core.conversion.reading import Dialect, Mismatch, Mismatched, Path, Tables
from envbuilder.core.errors import Fault, InvalidInput
from envbuilder.core.structure import load
from envbuilder.core.yaml.canonical import Plain
from envbuilder.core.yaml.documents import Mapping, Node, ParsedDocument, Sequence

T = TypeVar("T")


def _on_one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be printable text on one line")
    return text


_DIALECT = Dialect(mapping="must have fields (`name: value`)", text=_on_one_line, closed=True)


def structured(
    kind: type[T],
    document: ParsedDocument,
    file: str,
    *,
    tables: Tables | None = None,
    check: Callable[[T], Iterable[Mismatch]] = lambda _: (),
) -> T:
    """Return the dataclass for a document.

    Args:
        kind: The dataclass.
        document: Result of `documents.read`.
        file: Its path, for the faults.
        tables: Tables for `Named`.
        check: Rules between fields; called if every field is valid by itself.

    Raises:
        InvalidInput: With all faults, including those of spelling.
    """
    try:
        found = load(kind, value_of(document.root), dialect=_DIALECT, tables=tables)
    except Mismatched as error:
        raise InvalidInput(_faults(document, error.mismatches, file)) from error
    if faults := _faults(document, check(found), file):
        raise InvalidInput(faults)
    return found


def value_of(node: Node) -> object:
    """Return the plain value of a node."""
    if isinstance(node, Mapping):
        return {name: value_of(value) for name, value in node.entries}
    if isinstance(node, Sequence):
        return [value_of(item) for item in node.items]
    return node.value


def plain_of(node: Node) -> Plain:
    """Return the value of a node, without its lines.

    Raises:
        ValueError: A value is `null`.
    """
    if isinstance(node, Mapping):
        return {name: plain_of(value) for name, value in node.entries}
    if isinstance(node, Sequence):
        return [plain_of(item) for item in node.items]
    if node.value is None:
        raise ValueError(f"line {node.line} has no value")
    return node.value


def _faults(document: ParsedDocument, mismatches: Iterable[Mismatch], file: str) -> tuple[Fault, ...]:
    """Return all faults; keep only the first of each field, which is the cause of the others."""
    found = {(fault.line, fault.field): fault for fault in document.faults}
    for each in mismatches:
        line = line_of(document.root, each.path)
        fault = Fault(file=file, line=line, field=each.field, problem=each.problem, hint=each.hint)
        found.setdefault((line, fault.field), fault)
    return tuple(found.values())


def line_of(node: Node, path: Path) -> int:
    """Return the line of the node at a path, or of its deepest existing ancestor."""
    for step in path:
        inner: Node | None = None
        if isinstance(node, Mapping) and isinstance(step, str):
            inner = dict(node.entries).get(step)
        elif isinstance(node, Sequence) and isinstance(step, int):
            inner = node.items[step]
        if inner is None:
            break
        node = inner
    return node.line

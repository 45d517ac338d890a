"""Reading the engine's JSON answers without trusting their shape: a missing or odd field is its type's empty value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Record: TypeAlias = Mapping[str, object]


def at(record: Record, *path: str) -> object:
    """The value under nested keys; None as soon as one of them is missing."""
    value: object = record
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def text(record: Record, *path: str) -> str:
    """The text under nested keys; empty when there is none."""
    value = at(record, *path)
    return value if isinstance(value, str) else ""


def number(record: Record, *path: str) -> int:
    """The whole number under nested keys; 0 when there is none."""
    value = at(record, *path)
    return value if isinstance(value, int) else 0


def child(record: Record, *path: str) -> Record:
    """The object under nested keys; empty when there is none."""
    value = at(record, *path)
    return value if isinstance(value, Mapping) else {}


def children(record: Record, *path: str) -> tuple[Record, ...]:
    """The objects in the list under nested keys, in their order; entries that are no objects are left out."""
    value = at(record, *path)
    return tuple(item for item in value if isinstance(item, Mapping)) if isinstance(value, list) else ()


def texts(record: Record, *path: str) -> tuple[str, ...]:
    """The texts in the list under nested keys, in their order; the engine writes null for an empty list."""
    value = at(record, *path)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def failure(message: Record) -> str:
    """What a progress message says went wrong; empty when it reports no error."""
    return text(message, "errorDetail", "message") or text(message, "error")

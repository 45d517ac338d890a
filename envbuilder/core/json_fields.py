"""Fields of untrusted JSON documents, read without assumptions on their shape.

A missing field, or one of another type, gives the empty value of the requested type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from envbuilder.core.json_input import BadJson, load_json

Record: TypeAlias = Mapping[str, object]


def parsed(content: bytes) -> object:
    """Return the value of a JSON document; None if it is not JSON."""
    try:
        return load_json(content)
    except BadJson:
        return None


def at(value: object, *path: str) -> object:
    """Return the value under nested keys; None if one of them is missing."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def text(value: object, *path: str) -> str:
    """Return the text under nested keys; empty if there is none."""
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def number(value: object, *path: str) -> int:
    """Return the integer under nested keys; 0 if there is none."""
    found = at(value, *path)
    return found if isinstance(found, int) else 0


def record(value: object, *path: str) -> Record:
    """Return the object under nested keys, or the value itself if it is one; empty if there is none."""
    found = at(value, *path)
    return found if isinstance(found, Mapping) else {}


def records(value: object, *path: str) -> tuple[Record, ...]:
    """Return the objects in the list under nested keys, in their order; entries that are not objects are left out."""
    found = at(value, *path)
    return tuple(item for item in found if isinstance(item, Mapping)) if isinstance(found, list) else ()


def texts(value: object, *path: str) -> tuple[str, ...]:
    """Return the texts in the list under nested keys, in their order; Docker writes null for an empty list."""
    found = at(value, *path)
    return tuple(item for item in found if isinstance(item, str)) if isinstance(found, list) else ()

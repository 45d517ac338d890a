"""Canonical YAML: equal values give equal bytes.

Every text is written as a JSON string, which is also a YAML string, so that the quoting rules of YAML do not matter.
The caller decides the order of keys and entries; nothing is sorted.
"""

from __future__ import annotations

import json
from typing import TypeAlias

Plain: TypeAlias = "str | int | bool | list[Plain] | dict[str, Plain]"


def dump(value: dict[str, Plain]) -> str:
    """Write a mapping as YAML.

    Empty lists and mappings are written `[]` and `{}`.

    Example:
        >>> print(dump({"schema": 1, "packages": [{"name": "six", "version": "1.15.0"}], "links": []}), end="")
        schema: 1
        packages:
          - name: "six"
            version: "1.15.0"
        links: []
    """
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: Plain) -> list[str]:
    """Return the lines of a mapping or a list; none of an empty one, and of other values."""
    lines: list[str] = []
    if isinstance(value, dict):
        for key, item in value.items():
            below = _lines(item)
            lines += [f"{_key(key)}:", *(f"  {line}" for line in below)] if below else [f"{_key(key)}: {_leaf(item)}"]
    elif isinstance(value, list):
        for item in value:
            first, *rest = _lines(item) or [_leaf(item)]
            lines += [f"- {first}", *(f"  {line}" for line in rest)]
    return lines


def _key(name: str) -> str:
    is_plain = name.replace("_", "a").replace("-", "a").isalnum() and name.isascii()
    return name if is_plain else _leaf(name)


def _leaf(value: Plain) -> str:
    return json.dumps(value, ensure_ascii=False)

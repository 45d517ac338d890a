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
    return "".join(f"{line}\n" for line in _mapping(value))


def _mapping(value: dict[str, Plain]) -> list[str]:
    lines: list[str] = []
    for key, item in value.items():
        name = (
            key
            if key.replace("_", "a").replace("-", "a").isalnum() and key.isascii()
            else json.dumps(key, ensure_ascii=False)
        )
        if isinstance(item, dict) and item:
            lines += [f"{name}:", *(f"  {line}" for line in _mapping(item))]
        elif isinstance(item, list) and item:
            lines += [f"{name}:", *(f"  {line}" for line in _sequence(item))]
        else:
            lines.append(f"{name}: {_leaf(item)}")
    return lines


def _sequence(value: list[Plain]) -> list[str]:
    lines: list[str] = []
    for item in value:
        if isinstance(item, dict) and item:
            first, *rest = _mapping(item)
            lines += [f"- {first}", *(f"  {line}" for line in rest)]
        elif isinstance(item, list) and item:
            first, *rest = _sequence(item)
            lines += [f"- {first}", *(f"  {line}" for line in rest)]
        else:
            lines.append(f"- {_leaf(item)}")
    return lines


def _leaf(value: Plain) -> str:
    return json.dumps(value, ensure_ascii=False)

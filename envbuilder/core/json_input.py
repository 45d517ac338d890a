"""Untrusted JSON: bounded in bytes, depth and digits, without constructs that parsers interpret differently."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import NoReturn

LARGEST = 64 << 20
"""Bytes of a document. The largest valid ones, facts of a machine with eight GPUs, have less than a megabyte."""

_DEEPEST = 64
_LONGEST_NUMBER = 20  # digits of the largest number of 64 bits
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


class BadJson(ValueError):
    """A text is not JSON, or exceeds a limit."""


def load_json(content: str | bytes, *, surrogates: bool = False) -> object:
    """Read a JSON document.

    Args:
        content: The document; bytes are UTF-8.
        surrogates: Accept lone surrogates, which cannot be encoded as UTF-8.

    Raises:
        BadJson: It is not JSON; is too long or nested too deep; has a number that is not a finite number of 64 bits; or
            has a key twice.

    Example:
        >>> load_json('{"a": [1, 2.5]}')
        {'a': [1, 2.5]}
        >>> load_json('{"a": 1, "a": 2}')
        Traceback (most recent call last):
        envbuilder.core.json_input.BadJson: the key 'a' is duplicated
    """
    if len(content) > LARGEST:
        raise BadJson(f"more than {LARGEST} bytes")
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        value: object = json.loads(
            text,
            parse_int=_integer,
            parse_float=_number,
            parse_constant=_refuse,
            object_pairs_hook=_unique,
        )
    except BadJson:
        raise
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise BadJson(str(error).partition("\n")[0]) from None
    if text.count("[") + text.count("{") > _DEEPEST:
        _require_flat(value)
    if not surrogates and _SURROGATE.search(text):
        _require_text(value)
    return value


def load_object(content: str | bytes, *, surrogates: bool = False) -> dict[str, object]:
    """Read a JSON document that is an object; arguments as in `load_json`.

    Raises:
        BadJson: As `load_json`, or it is not an object.
    """
    found = load_json(content, surrogates=surrogates)
    if not isinstance(found, dict):
        raise BadJson("not an object")
    return found


def printable(text: str) -> str:
    """Return a text without lone surrogates, which JSON can contain but UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _integer(text: str) -> int:
    if len(text.removeprefix("-")) > _LONGEST_NUMBER:
        raise BadJson(f"a number of {len(text)} digits")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise BadJson(f"the number {text[:_LONGEST_NUMBER]} is too large")
    return value


def _refuse(name: str) -> NoReturn:
    raise BadJson(f"{name} is not JSON")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise BadJson(f"the key {twice[:80]!r} is duplicated")
    return found


def _require_flat(value: object) -> None:
    level, depth = [value], 0
    while level:
        if depth >= _DEEPEST:
            raise _too_deep()
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
            if isinstance(inner, dict | list)
        ]
        depth += 1


def _too_deep() -> BadJson:
    return BadJson(f"nested deeper than {_DEEPEST} levels")


def _require_text(value: object) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadJson("text with an unpaired surrogate") from None

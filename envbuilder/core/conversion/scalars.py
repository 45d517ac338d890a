"""Converters of values without parts: text, numbers, choices, and what a function parses."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from datetime import date
from enum import StrEnum
from operator import attrgetter
from typing import Any, Final, cast

from envbuilder.core.conversion.reading import WRONG, Converter, Converters, Reading
from envbuilder.core.field_rules import Named, Parsed
from envbuilder.core.mismatches import Path
from envbuilder.core.versions import Release


def _load_text(value: object, path: Path, reading: Reading) -> object:
    if isinstance(value, str):
        return reading.call(reading.dialect.text, value, path)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    shown = str(value).lower() if isinstance(value, bool) else value
    return reading.refuse(path, "must be text", f'write "{shown}"' if is_number or isinstance(value, bool) else "")


def _load_integer(value: object, path: Path, reading: Reading) -> object:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return value if is_integer else reading.refuse(path, "must be a whole number")


def _load_flag(value: object, path: Path, reading: Reading) -> object:
    return value if isinstance(value, bool) else reading.refuse(path, "must be true or false")


def _load_number(value: object, path: Path, reading: Reading) -> object:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(cast("float", value)) if is_number else reading.refuse(path, "must be a number")


def _same(value: object) -> object:
    return value


def _parsed_text(parse: Callable[[str], object], write: Callable[[Any], object] = str) -> Converter:
    return parsed(Parsed(parse, write=write), SCALARS.__getitem__)


def parsed(rule: Parsed, converters: Converters) -> Converter:
    """Return the converter for a value that a function parses."""
    inner = converters(rule.of)

    def load_value(value: object, path: Path, reading: Reading) -> object:
        found = inner.load(value, path, reading)
        return found if found is WRONG else reading.call(rule.parse, found, path)

    return Converter(load_value, rule.write)


def choice(kind: type[StrEnum]) -> Converter:
    """Return the converter for one value of an enumeration."""
    known = one_of(tuple(kind))
    return _parsed_text(lambda text: kind(known(text)), attrgetter("value"))


def named(rule: Named) -> Converter:
    """Return the converter for an entry of a table."""

    def load_value(value: object, path: Path, reading: Reading) -> object:
        key = _load_text(value, path, reading)
        table = reading.tables[rule.table]
        if key is WRONG or key in table:
            return WRONG if key is WRONG else table[cast("str", key)]
        return reading.refuse(path, f"{key!r} is not in the catalog", f"known: {', '.join(sorted(table))}")

    return Converter(load_value, attrgetter("id"))


def one_of(values: Collection[str | bool]) -> Callable[[str], str]:
    """Return a parser that accepts these texts, unchanged."""

    def parse(text: str) -> str:
        if text not in values:
            raise ValueError(f"{text[:80]!r} is none of {', '.join(map(str, values))}")
        return text

    return parse


SCALARS: Final[dict[Any, Converter]] = {
    str: Converter(_load_text, _same),
    int: Converter(_load_integer, _same),
    bool: Converter(_load_flag, _same),
    float: Converter(_load_number, _same),
    object: Converter(lambda value, _path, _reading: value, _same),
}
SCALARS[Release] = _parsed_text(Release)
SCALARS[date] = _parsed_text(date.fromisoformat, date.isoformat)

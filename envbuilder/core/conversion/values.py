"""Converters of text, numbers, choices and lists, and of what a function parses."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from datetime import date
from enum import StrEnum
from operator import attrgetter
from typing import Any, Final, cast, get_args

from envbuilder.core.conversion.reading import WRONG, Converter, Converters, Path, Reading
from envbuilder.core.field_rules import Named, NotEmpty, Parsed, Sorted, Unique
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


def sequence(hint: Any, converters: Converters) -> Converter:  # noqa: ANN401
    """Return the converter for `tuple[X, ...]`."""
    each, *rest = get_args(hint)
    if rest != [...]:
        raise TypeError(f"no rule for {hint}: only tuples of one type")
    inner = converters(each)

    def load_value(value: object, path: Path, reading: Reading) -> object:
        if not isinstance(value, list):
            return reading.refuse(path, "must be a list")
        found = tuple(inner.load(entry, (*path, index), reading) for index, entry in enumerate(value))
        return WRONG if WRONG in found else found

    return Converter(load_value, lambda value: [inner.dump(entry) for entry in value])


def unique(inner: Converter, rule: Unique) -> Converter:
    """Return the converter for a list without two entries of one name."""
    names = rule.names

    def load_value(value: object, path: Path, reading: Reading) -> object:
        seen: set[str] = set()
        for index, entry in enumerate(value) if isinstance(value, list) else ():
            key = " ".join(str(entry.get(name)) for name in names) if isinstance(entry, dict) else f"[{index}]"
            if key in seen:
                reading.refuse((*path, index, names[-1]), f"{key[:80]!r} is a duplicate")
            seen.add(key)
        return inner.load(value, path, reading)

    return Converter(load_value, inner.dump)


def not_empty(inner: Converter, _: NotEmpty) -> Converter:
    """Return the converter for a list with at least one entry."""

    def load_value(value: object, path: Path, reading: Reading) -> object:
        return reading.refuse(path, "must have at least one entry") if value == [] else inner.load(value, path, reading)

    return Converter(load_value, inner.dump)


def in_order(inner: Converter, rule: Sorted) -> Converter:
    """Return the converter for a list whose order has no meaning."""
    key = attrgetter(rule.by) if rule.by else None

    def load_value(value: object, path: Path, reading: Reading) -> object:
        found = inner.load(value, path, reading)
        return tuple(sorted(found, key=key)) if isinstance(found, tuple) else found

    return Converter(load_value, inner.dump)


SCALARS: Final[dict[Any, Converter]] = {
    str: Converter(_load_text, _same),
    int: Converter(_load_integer, _same),
    bool: Converter(_load_flag, _same),
    float: Converter(_load_number, _same),
    object: Converter(lambda value, _path, _reading: value, _same),
}
SCALARS[Release] = _parsed_text(Release)
SCALARS[date] = _parsed_text(date.fromisoformat, date.isoformat)

"""Converters of lists, and of mappings that are read as tuples."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, get_args, get_origin

from envbuilder.core.conversion.reading import WRONG, Converter, Converters, Reading
from envbuilder.core.conversion.records import Member, bare, members
from envbuilder.core.field_rules import Entries, NotEmpty, Sorted, Unique
from envbuilder.core.mismatches import Path


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


def entries(hint: Any, rule: Entries, converters: Converters) -> Converter:  # noqa: ANN401
    """Return the converter for a mapping that is read as a tuple of pairs, or of dataclasses with two fields."""
    each = get_args(bare(hint))[0]
    if get_origin(each) is tuple:
        key, member = (Member(name="", names=(), converter=converters(one)) for one in get_args(each))
        return _mapping(rule, key, member, lambda name, value: (name, value), tuple)
    key, member = members(each, converters)
    kind = get_origin(each) or each
    return _mapping(
        rule,
        key,
        member,
        lambda name, value: kind(**{key.name: name, member.name: value}),
        attrgetter(key.name, member.name),
    )


def _mapping(
    rule: Entries,
    key: Member,
    member: Member,
    make: Callable[[object, object], object],
    split: Callable[[Any], tuple[Any, ...]],
) -> Converter:
    def load_value(value: object, path: Path, reading: Reading) -> object:
        mapping = reading.mapping(value, path, None)
        if mapping is None:
            return WRONG
        found = [
            (key.value(name, (*path, name), reading), member.value(entry, (*path, name), reading))
            for name, entry in (sorted(mapping.items()) if rule.ordered else mapping.items())
        ]
        return WRONG if any(WRONG in pair for pair in found) else tuple(make(*pair) for pair in found)

    def dump_value(value: tuple[object, ...]) -> object:
        return {name: member.converter.dump(entry) for name, entry in map(split, value)}

    return Converter(load_value, dump_value)

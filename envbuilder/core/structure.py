"""Conversion of plain JSON or YAML values to frozen dataclasses and back, driven by type hints.

`load(kind, dump(value)) == value`. The hint of a field decides its conversion: `str`, `int`, `bool`, `float`,
`Release`, a string enumeration, `tuple[X, ...]`, `X | None` or another dataclass; `Annotated` adds rules that a type
cannot express (`core/field_rules.py`). A field that is absent or null takes its default,
else None if the hint allows it; a field with its default value is not written.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from datetime import date
from enum import StrEnum
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from envbuilder.core.field_rules import At, Entries, Inside, NotEmpty, Omitted, Parsed, Sorted, Tagged, Unique, When
from envbuilder.core.versions import Release

T = TypeVar("T")
Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One value that does not match its hint.

    Attributes:
        path: Names of fields and indexes of entries, from the root of the document.
        problem: The problem.
        hint: Correct value; may be empty.
    """

    path: Path
    problem: str
    hint: str = ""

    @property
    def field(self) -> str:
        """Path as text, such as `bases[1].python`."""
        text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return text.removeprefix(".")


class Mismatched(ValueError):
    """A document does not match its type.

    Attributes:
        mismatches: All of them, in the order of the fields.
    """

    def __init__(self, mismatches: tuple[Mismatch, ...]) -> None:
        super().__init__("; ".join(f"{each.field}: {each.problem}" for each in mismatches))
        self.mismatches = mismatches


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Differences between the kinds of documents.

    Attributes:
        mapping: Problem text for a value that should be a mapping.
        text: Checks or corrects every text; its `ValueError` is the problem.
        closed: Whether an unknown field is a mismatch.
    """

    mapping: str = "must be an object"
    text: Callable[[str], str] = str
    closed: bool = False


def load(kind: type[T], value: object, *, dialect: Dialect | None = None, at: Path = ()) -> T:
    """Return the dataclass for a plain value.

    Args:
        kind: The dataclass, or another supported hint.
        value: Output of a JSON or YAML parser.
        dialect: Strictness; None accepts unknown fields.
        at: Position of the value in its document, for the mismatches.

    Raises:
        Mismatched: With all mismatches.
    """
    reading = _Reading(dialect or Dialect())
    found = _converter(cast("Any", kind)).load(value, at, reading)
    reading.refuse_unknown()
    if reading.mismatches:
        raise Mismatched(tuple(reading.mismatches))
    return cast("T", found)


def dump(value: object) -> dict[str, Any]:
    """Return a dataclass as plain values, in the order of its fields; the inverse of `load`."""
    return cast("dict[str, Any]", _converter(cast("Any", type(value))).dump(value))


class _Wrong:
    """Marker for a refused value, or for the default of a field that has none."""


_WRONG: Final = _Wrong()
_REQUIRED: Final = _Wrong()


class _Reading:
    """State of one call of `load`: the problems so far, and the known names of each mapping."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.mismatches: list[Mismatch] = []
        self._opened: dict[Path, tuple[Mapping[str, object], set[str]]] = {}

    def refuse(self, path: Path, problem: str, hint: str = "") -> _Wrong:
        self.mismatches.append(Mismatch(path=path, problem=problem, hint=hint))
        return _WRONG

    def call(self, function: Callable[[Any], object], value: object, path: Path) -> object:
        try:
            return function(value)
        except ValueError as error:
            return self.refuse(path, str(error))

    def mapping(self, value: object, path: Path, known: set[str] | None) -> Mapping[str, object] | None:
        """Return a value that is a mapping, and record its known names (None: any)."""
        if not isinstance(value, dict):
            self.refuse(path, self.dialect.mapping)
            return None
        if known is not None:
            self._opened.setdefault(path, (value, set()))[1].update(known)
        return value

    def refuse_unknown(self) -> None:
        for path, (mapping, known) in self._opened.items() if self.dialect.closed else ():
            for name in mapping:
                if name not in known:
                    near = difflib.get_close_matches(name, sorted(known), 1)
                    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(known))}"
                    self.refuse((*path, name), "is not a known field", hint)


@dataclass(frozen=True, slots=True)
class _Converter:
    load: Callable[[Any, Path, _Reading], object]
    dump: Callable[[Any], object]


def _load_text(value: object, path: Path, reading: _Reading) -> object:
    if isinstance(value, str):
        return reading.call(reading.dialect.text, value, path)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    shown = str(value).lower() if isinstance(value, bool) else value
    return reading.refuse(path, "must be text", f'write "{shown}"' if is_number or isinstance(value, bool) else "")


def _load_integer(value: object, path: Path, reading: _Reading) -> object:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return value if is_integer else reading.refuse(path, "must be a whole number")


def _load_flag(value: object, path: Path, reading: _Reading) -> object:
    return value if isinstance(value, bool) else reading.refuse(path, "must be true or false")


def _load_number(value: object, path: Path, reading: _Reading) -> object:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(cast("float", value)) if is_number else reading.refuse(path, "must be a number")


def _same(value: object) -> object:
    return value


_SCALARS: Final[dict[Any, _Converter]] = {
    str: _Converter(_load_text, _same),
    int: _Converter(_load_integer, _same),
    bool: _Converter(_load_flag, _same),
    float: _Converter(_load_number, _same),
    object: _Converter(lambda value, _path, _reading: value, _same),
}


@cache
def _converter(hint: Any) -> _Converter:  # noqa: ANN401  a hint may be a class, a union or an alias
    if hint in _SCALARS:
        return _SCALARS[hint]
    origin = get_origin(hint)
    if builder := _BUILDERS.get(origin):
        return builder(hint)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _choice(hint)
    if is_dataclass(origin or hint):
        return _record(hint)
    raise TypeError(f"no rule for values of {hint}")


def _choice(kind: type[StrEnum]) -> _Converter:
    known = _one_of(tuple(kind))
    return _parsed(Parsed(lambda text: kind(known(text)), write=lambda value: value.value))


def _one_of(values: Collection[str | bool]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in values:
            raise ValueError(f"{text[:80]!r} is none of {', '.join(map(str, values))}")
        return text

    return parse


def _parsed(rule: Parsed) -> _Converter:
    inner = _converter(rule.of)

    def load_value(value: object, path: Path, reading: _Reading) -> object:
        found = inner.load(value, path, reading)
        return found if found is _WRONG else reading.call(rule.parse, found, path)

    return _Converter(load_value, rule.write)


def _annotated(hint: Any) -> _Converter:  # noqa: ANN401
    bare, *rules = get_args(hint)
    for position, rule in reversed(list(enumerate(rules))):
        if builder := _RULES.get(type(rule)):
            return builder(Annotated[(bare, *rules[:position])] if position else bare, rule)
    return _converter(bare)


def _inside(hint: Any, rule: Inside) -> _Converter:  # noqa: ANN401
    inner, name = _converter(hint), rule.name

    def load_value(value: object, path: Path, reading: _Reading) -> object:
        found = reading.mapping(value, path, {name})
        return _WRONG if found is None else inner.load(found.get(name), (*path, name), reading)

    return _Converter(load_value, lambda value: {name: inner.dump(value)})


def _optional(hint: Any) -> _Converter:  # noqa: ANN401
    bare, *more = (each for each in get_args(hint) if each is not NoneType)
    if more:
        raise TypeError(f"{hint} needs a tag")
    inner = _converter(bare)

    def load_value(value: object, path: Path, reading: _Reading) -> object:
        # Programs write an empty text, or "nan", for unknown values.
        unknown = value is None or (value == "" and bare is not str) or (bare is float and value in _NOT_FINITE)
        return None if unknown else inner.load(value, path, reading)

    return _Converter(load_value, lambda value: None if value is None else inner.dump(value))


_NOT_FINITE: Final = ("nan", "inf", "-inf")


def _tuple(hint: Any) -> _Converter:  # noqa: ANN401
    each, *rest = get_args(hint)
    if rest != [...]:
        raise TypeError(f"no rule for {hint}: only tuples of one type")
    inner = _converter(each)

    def load_value(value: object, path: Path, reading: _Reading) -> object:
        if not isinstance(value, list):
            return reading.refuse(path, "must be a list")
        found = tuple(inner.load(entry, (*path, index), reading) for index, entry in enumerate(value))
        return _WRONG if _WRONG in found else found

    return _Converter(load_value, lambda value: [inner.dump(entry) for entry in value])


def _unique(hint: Any, rule: Unique) -> _Converter:  # noqa: ANN401
    inner, names = _converter(hint), rule.names

    def load_value(value: object, path: Path, reading: _Reading) -> object:
        seen: set[str] = set()
        for index, entry in enumerate(value) if isinstance(value, list) else ():
            key = " ".join(str(entry.get(name)) for name in names) if isinstance(entry, dict) else f"[{index}]"
            if key in seen:
                reading.refuse((*path, index, names[-1]), f"{key[:80]!r} is a duplicate")
            seen.add(key)
        return inner.load(value, path, reading)

    return _Converter(load_value, inner.dump)


def _not_empty(hint: Any, _: NotEmpty) -> _Converter:  # noqa: ANN401
    inner = _converter(hint)

    def load_value(value: object, path: Path, reading: _Reading) -> object:
        return reading.refuse(path, "must have at least one entry") if value == [] else inner.load(value, path, reading)

    return _Converter(load_value, inner.dump)


def _sorted(hint: Any, _: Sorted) -> _Converter:  # noqa: ANN401
    inner = _converter(hint)

    def load_value(value: object, path: Path, reading: _Reading) -> object:
        found = inner.load(value, path, reading)
        return tuple(sorted(found)) if isinstance(found, tuple) else found

    return _Converter(load_value, inner.dump)


def _entries(hint: Any, rule: Entries) -> _Converter:  # noqa: ANN401
    each = get_args(_bare(hint))[0]
    if get_origin(each) is tuple:
        key, member = (_Member(name="", names=(), converter=_converter(one)) for one in get_args(each))
        return _mapping(rule, key, member, lambda name, value: (name, value), tuple)
    key, member = _members(each)
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
    key: _Member,
    member: _Member,
    make: Callable[[object, object], object],
    split: Callable[[Any], tuple[Any, ...]],
) -> _Converter:
    def load_value(value: object, path: Path, reading: _Reading) -> object:
        mapping = reading.mapping(value, path, None)
        if mapping is None:
            return _WRONG
        found = [
            (key.value(name, (*path, name), reading), member.value(entry, (*path, name), reading))
            for name, entry in (sorted(mapping.items()) if rule.ordered else mapping.items())
        ]
        return _WRONG if any(_WRONG in pair for pair in found) else tuple(make(*pair) for pair in found)

    def dump_value(value: tuple[object, ...]) -> object:
        return {name: member.converter.dump(entry) for name, entry in map(split, value)}

    return _Converter(load_value, dump_value)


def _tagged(hint: Any, rule: Tagged) -> _Converter:  # noqa: ANN401
    kinds = get_args(_bare(hint))
    tags = _SCALARS[bool] if isinstance(rule.values[0], bool) else _parsed(Parsed(_one_of(rule.values)))
    variants = dict(zip(rule.values, map(_converter, kinds), strict=True))
    classes = {get_origin(kind) or kind: value for value, kind in zip(rule.values, kinds, strict=True)}

    def load_value(value: object, path: Path, reading: _Reading) -> object:
        mapping = reading.mapping(value, path, {rule.name})
        if mapping is None:
            return _WRONG
        tag = tags.load(mapping.get(rule.name), (*path, rule.name), reading)
        if tag is _WRONG:
            # Nothing is known of the other fields.
            reading.mapping(mapping, path, set(mapping))
            return _WRONG
        return variants[cast("str | bool", tag)].load(mapping, path, reading)

    def dump_value(value: object) -> object:
        tag = classes[type(value)]
        return {rule.name: tag} | cast("dict[str, object]", variants[tag].dump(value))

    return _Converter(load_value, dump_value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    """A field.

    Attributes:
        name: Its name.
        names: Its position in the object.
        converter: For its values.
        default: `_REQUIRED` if it has none.
        optional: Whether None is allowed.
        when: Condition for its presence in the object; None for none.
    """

    name: str
    names: tuple[str, ...]
    converter: _Converter
    default: object = _REQUIRED
    optional: bool = False
    when: When | None = None

    def load(self, owner: Mapping[str, object], path: Path, reading: _Reading) -> object:
        if self.when and owner.get(self.when.name) != self.when.value:
            return self.default
        value: object = owner
        for name in self.names:
            mapping = reading.mapping(value, path, {name})
            if mapping is None:
                return _WRONG
            value, path = mapping.get(name), (*path, name)
            if value is None:
                break
        return self.value(value, path, reading)

    def value(self, value: object, path: Path, reading: _Reading) -> object:
        if value is not None:
            return self.converter.load(value, path, reading)
        if self.default is not _REQUIRED and not (self.when and self.when.required):
            return self.default
        return None if self.optional else reading.refuse(path, "is missing")

    def write(self, plain: dict[str, Any], value: object) -> None:
        if self.when and plain.get(self.when.name) != self.when.value:
            return
        if value == self.default and not (self.when and self.when.required):
            return
        if not self.names:
            plain.update(cast("dict[str, Any]", self.converter.dump(value)))
            return
        *outer, last = self.names
        for name in outer:
            plain = plain.setdefault(name, {})
        plain[last] = self.converter.dump(value)


def _record(hint: Any) -> _Converter:  # noqa: ANN401
    kind = get_origin(hint) or hint
    members = _members(hint)

    def load_value(value: object, path: Path, reading: _Reading) -> object:
        mapping = reading.mapping(value, path, set())
        if mapping is None:
            return _WRONG
        found = {member.name: member.load(mapping, path, reading) for member in members}
        if any(member.when and found.get(member.when.name) is _WRONG for member in members):
            # Nothing is known of the fields that depend on it.
            reading.mapping(mapping, path, set(mapping))
        return _WRONG if _WRONG in found.values() else reading.call(lambda values: kind(**values), found, path)

    def dump_value(value: object) -> object:
        plain: dict[str, Any] = {}
        for member in members:
            member.write(plain, getattr(value, member.name))
        return plain

    return _Converter(load_value, dump_value)


def _members(hint: Any) -> tuple[_Member, ...]:  # noqa: ANN401
    kind = get_origin(hint) or hint
    hints = get_type_hints(kind, include_extras=True)
    bound = dict(zip(getattr(kind, "__parameters__", ()), get_args(hint), strict=True))
    hinted = ((each, _bind(hints[each.name], bound)) for each in fields(kind))
    return tuple(_member(each, hint) for each, hint in hinted if _rule(hint, Omitted) is None)


def _member(field: Field[Any], hint: Any) -> _Member:  # noqa: ANN401
    at = _rule(hint, At)
    return _Member(
        name=field.name,
        names=at.names if at else (field.name,),
        converter=_converter(hint),
        default=_default(field),
        optional=NoneType in get_args(_bare(hint)),
        when=_rule(hint, When),
    )


def _bare(hint: Any) -> Any:  # noqa: ANN401
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _rule(hint: Any, kind: type[T]) -> T | None:  # noqa: ANN401
    rules = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((rule for rule in rules if isinstance(rule, kind)), None)


def _default(field: Field[Any]) -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return _REQUIRED if field.default is MISSING else field.default


def _bind(hint: Any, bound: Mapping[Any, Any]) -> Any:  # noqa: ANN401
    """Return a hint with its type variables replaced."""
    if isinstance(hint, TypeVar):
        return bound[hint]
    return hint[tuple(bound[each] for each in hint.__parameters__)] if getattr(hint, "__parameters__", ()) else hint


_BUILDERS: Final[dict[Any, Callable[[Any], _Converter]]] = {
    Annotated: _annotated,
    Union: _optional,
    UnionType: _optional,
    tuple: _tuple,
}
_RULES: Final[dict[type, Callable[[Any, Any], _Converter]]] = {
    Parsed: lambda _, rule: _parsed(rule),
    Entries: _entries,
    Tagged: _tagged,
    Inside: _inside,
    Unique: _unique,
    NotEmpty: _not_empty,
    Sorted: _sorted,
}
_SCALARS[Release] = _parsed(Parsed(Release))
_SCALARS[date] = _parsed(Parsed(date.fromisoformat, write=date.isoformat))

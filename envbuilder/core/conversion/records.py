"""Converters of dataclasses and unions of them, and of mappings that are read as tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from operator import attrgetter
from types import NoneType
from typing import Annotated, Any, Final, TypeVar, cast, get_args, get_origin, get_type_hints

from envbuilder.core.conversion.reading import WRONG, Converter, Converters, Path, Reading, Wrong
from envbuilder.core.conversion.values import SCALARS, one_of, parsed
from envbuilder.core.field_rules import At, Entries, Inside, Omitted, Parsed, Tagged, When

T = TypeVar("T")
_REQUIRED: Final = Wrong()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordField:
    """A field.

    Attributes:
        names: Its position in the object.
        converter: For its values.
        default: `_REQUIRED` if it has none.
        optional: Whether None is allowed.
        when: Condition for its presence in the object; None for none.
    """

    name: str
    names: tuple[str, ...]
    converter: Converter
    default: object = _REQUIRED
    optional: bool = False
    when: When | None = None

    def load(self, owner: Mapping[str, object], path: Path, reading: Reading) -> object:
        """Return the value of the field of an object; `WRONG` after a problem was recorded."""
        if self.when and owner.get(self.when.name) not in self.when.values:
            return self.default
        value: object = owner
        for name in self.names:
            mapping = reading.mapping(value, path, {name})
            if mapping is None:
                return WRONG
            value, path = mapping.get(name), (*path, name)
            if value is None:
                break
        return self.value(value, path, reading)

    def value(self, value: object, path: Path, reading: Reading) -> object:
        """Return the value for a plain one, or the default for None; `WRONG` after a problem was recorded."""
        if value is not None:
            return self.converter.load(value, path, reading)
        if self.default is not _REQUIRED and not (self.when and self.when.required):
            return self.default
        return None if self.optional else reading.refuse(path, "is missing")

    def write(self, plain: dict[str, Any], value: object) -> None:
        """Add the plain value to an object, unless it is the default."""
        if self.when and plain.get(self.when.name) not in self.when.values:
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


def record(hint: Any, converters: Converters) -> Converter:  # noqa: ANN401
    """Return the converter for a dataclass."""
    kind = get_origin(hint) or hint
    known = _members(hint, converters)

    def load_value(value: object, path: Path, reading: Reading) -> object:
        mapping = reading.mapping(value, path, set())
        if mapping is None:
            return WRONG
        found = {member.name: member.load(mapping, path, reading) for member in known}
        if any(member.when and found.get(member.when.name) is WRONG for member in known):
            # Nothing is known of the fields that depend on it.
            reading.mapping(mapping, path, set(mapping))
        return WRONG if WRONG in found.values() else reading.call(lambda values: kind(**values), found, path)

    def dump_value(value: object) -> object:
        plain: dict[str, Any] = {}
        for member in known:
            member.write(plain, getattr(value, member.name))
        return plain

    return Converter(load_value, dump_value)


def tagged(hint: Any, rule: Tagged, converters: Converters) -> Converter:  # noqa: ANN401
    """Return the converter for a union of dataclasses, one for each value of a field."""
    kinds = get_args(bare(hint))
    tags = SCALARS[bool] if isinstance(rule.values[0], bool) else parsed(Parsed(one_of(rule.values)), converters)
    variants = dict(zip(rule.values, map(converters, kinds), strict=True))
    classes = {get_origin(kind) or kind: value for value, kind in zip(rule.values, kinds, strict=True)}

    def load_value(value: object, path: Path, reading: Reading) -> object:
        mapping = reading.mapping(value, path, {rule.name})
        if mapping is None:
            return WRONG
        tag = tags.load(mapping.get(rule.name), (*path, rule.name), reading)
        if tag is WRONG:
            # Nothing is known of the other fields.
            reading.mapping(mapping, path, set(mapping))
            return WRONG
        return variants[cast("str | bool", tag)].load(mapping, path, reading)

    def dump_value(value: object) -> object:
        tag = classes[type(value)]
        return {rule.name: tag} | cast("dict[str, object]", variants[tag].dump(value))

    return Converter(load_value, dump_value)


def inside(inner: Converter, rule: Inside) -> Converter:
    """Return the converter for a value wrapped in an object with one field."""
    name = rule.name

    def load_value(value: object, path: Path, reading: Reading) -> object:
        found = reading.mapping(value, path, {name})
        return WRONG if found is None else inner.load(found.get(name), (*path, name), reading)

    return Converter(load_value, lambda value: {name: inner.dump(value)})


def entries(hint: Any, rule: Entries, converters: Converters) -> Converter:  # noqa: ANN401
    """Return the converter for a mapping that is read as a tuple of pairs, or of dataclasses with two fields."""
    each = get_args(bare(hint))[0]
    if get_origin(each) is tuple:
        key, member = (RecordField(name="", names=(), converter=converters(one)) for one in get_args(each))
        return _mapping(rule, key, member, lambda name, value: (name, value), tuple)
    key, member = _members(each, converters)
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
    key: RecordField,
    member: RecordField,
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


def _members(hint: Any, converters: Converters) -> tuple[RecordField, ...]:  # noqa: ANN401
    return tuple(_member(each, inner, converters) for each, inner in hinted_fields(hint))


def hinted_fields(hint: Any) -> Iterator[tuple[Field[Any], Any]]:  # noqa: ANN401
    """Yield the fields of a dataclass that documents have, with their hints, in its order."""
    kind = get_origin(hint) or hint
    hints = get_type_hints(kind, include_extras=True)
    bound = dict(zip(getattr(kind, "__parameters__", ()), get_args(hint), strict=True))
    for each in fields(kind):
        inner = _bind(hints[each.name], bound)
        if rule_of(inner, Omitted) is None:
            yield each, inner


def bare(hint: Any) -> Any:  # noqa: ANN401
    """Return a hint without its rules."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _member(field: Field[Any], hint: Any, converters: Converters) -> RecordField:  # noqa: ANN401
    at = rule_of(hint, At)
    return RecordField(
        name=field.name,
        names=at.names if at else (field.name,),
        converter=converters(hint),
        default=_default(field),
        optional=NoneType in get_args(bare(hint)),
        when=rule_of(hint, When),
    )


def rule_of(hint: Any, kind: type[T]) -> T | None:  # noqa: ANN401
    """Return the first rule of a kind on a hint; None if it has none."""
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

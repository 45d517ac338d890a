"""Conversion of plain JSON or YAML values to frozen dataclasses and back, driven by type hints.

`load(kind, dump(value)) == value`. The hint of a field decides its conversion: `str`, `int`, `bool`, `float`,
`Release`, a string enumeration, `tuple[X, ...]`, `X | None` or another dataclass; `Annotated` adds rules that a type
cannot express (`core/field_rules.py`). A field that is absent or null takes its default,
else None if the hint allows it; a field with its default value is not written.

`document_of` fills a `TypedDict`, the form of a document that is only written, from the attributes of any value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from envbuilder.core.conversion.reading import Converter, Converters, Dialect, Mismatched, Path, Reading, Tables
from envbuilder.core.conversion.records import entries, inside, record, tagged
from envbuilder.core.conversion.values import (
    SCALARS,
    choice,
    in_order,
    named,
    not_empty,
    parsed,
    sequence,
    unique,
)
from envbuilder.core.field_rules import Entries, Inside, Named, NotEmpty, Parsed, Sorted, Tagged, Unique

T = TypeVar("T")
_NOT_FINITE: Final = ("nan", "inf", "-inf")


def load(
    kind: type[T], value: object, *, dialect: Dialect | None = None, at: Path = (), tables: Tables | None = None
) -> T:
    """Return the dataclass for a plain value.

    Args:
        kind: The dataclass, or another supported hint.
        value: Output of a JSON or YAML parser.
        dialect: Strictness; None accepts unknown fields.
        at: Position of the value in its document, for the mismatches.
        tables: Tables for `Named`.

    Raises:
        Mismatched: With all mismatches.
    """
    reading = Reading(dialect or Dialect(), tables or {})
    found = _converter(cast("Any", kind)).load(value, at, reading)
    reading.refuse_unknown()
    if reading.mismatches:
        raise Mismatched(*reading.mismatches)
    return cast("T", found)


def dump(value: object) -> dict[str, Any]:
    """Return a dataclass as plain values, in the order of its fields; the inverse of `load`."""
    return cast("dict[str, Any]", _converter(cast("Any", type(value))).dump(value))


@cache
def _converter(hint: Any) -> Converter:  # noqa: ANN401  a hint may be a class, a union or an alias
    if hint in SCALARS:
        return SCALARS[hint]
    origin = get_origin(hint)
    if origin is Annotated:
        return _annotated(hint)
    if origin in {Union, UnionType}:
        return _optional(hint)
    if origin is tuple:
        return sequence(hint, _converter)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return choice(hint)
    if is_dataclass(origin or hint):
        return record(hint, _converter)
    raise TypeError(f"no rule for values of {hint}")


def _annotated(hint: Any) -> Converter:  # noqa: ANN401
    """Return the converter for the last rule that has one, on a hint with the rules before it."""
    plain, *rules = get_args(hint)
    for position, rule in reversed(list(enumerate(rules))):
        inner = Annotated[(plain, *rules[:position])] if position else plain
        if builder := _HINT_RULES.get(type(rule)):
            return builder(inner, rule, _converter)
        if wrapper := _VALUE_RULES.get(type(rule)):
            return wrapper(_converter(inner), rule)
    return _converter(plain)


def _optional(hint: Any) -> Converter:  # noqa: ANN401
    plain, *more = (each for each in get_args(hint) if each is not NoneType)
    if more:
        raise TypeError(f"{hint} needs a tag")
    inner = _converter(plain)

    def is_unknown(value: object, reading: Reading) -> bool:
        # Programs write an empty text, or "nan", for unknown values.
        means_unknown = (value == "" and plain is not str) or (plain is float and value in _NOT_FINITE)
        return value is None or (means_unknown and not reading.dialect.closed)

    def load_value(value: object, path: Path, reading: Reading) -> object:
        return None if is_unknown(value, reading) else inner.load(value, path, reading)

    return Converter(load_value, lambda value: None if value is None else inner.dump(value))


_HINT_RULES: Final[dict[type, Callable[[Any, Any, Converters], Converter]]] = {
    Parsed: lambda _, rule, converters: parsed(rule, converters),
    Named: lambda _, rule, __: named(rule),
    Tagged: tagged,
    Entries: entries,
}
_VALUE_RULES: Final[dict[type, Callable[[Converter, Any], Converter]]] = {
    Inside: inside,
    NotEmpty: not_empty,
    Sorted: in_order,
    Unique: unique,
}


def document_of(kind: Any, value: object, /, **given: object) -> dict[str, Any]:  # noqa: ANN401  a `TypedDict`
    """Return a document: each field from `given`, else from the attribute of its name, in the form that its hint says.

    `str` is the text of any value, and a list is made of any sequence. Null is written for None, and for an empty text
    where a field may be null. An inner value becomes an inner document; one that is a document already stays.

    Args:
        kind: The `TypedDict`.
        value: Has the attributes.
        given: Values of fields that are not attributes of their names.

    Raises:
        TypeError: The kind has no such field, or a field that may not be null is None.

    Example:
        >>> from datetime import date
        >>> from types import SimpleNamespace
        >>> from typing import TypedDict
        >>> Pin = TypedDict("Pin", {"schema": Literal[1], "name": str, "day": str, "file": str | None})
        >>> document_of(Pin, SimpleNamespace(name="six", day=date(2021, 5, 5)), file="")
        {'schema': 1, 'name': 'six', 'day': '2021-05-05', 'file': None}
    """
    writers, constants, omissible = _fields(kind)
    if unknown := given.keys() - writers.keys():
        raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
    filled = constants | given
    return {
        name: write(filled[name] if name in filled else getattr(value, name))
        for name, write in writers.items()
        if name in filled or name not in omissible
    }


@cache
def _fields(kind: Any) -> tuple[dict[str, Callable[[Any], Any]], dict[str, object], frozenset[str]]:  # noqa: ANN401
    """Return how each field is written, the values of fields that have only one, and the fields that may be absent."""
    hints = get_type_hints(kind, include_extras=True)
    literals = {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Literal}
    constants = {name: values[0] for name, values in literals.items() if len(values) == 1}
    omissible = frozenset(name for name, hint in hints.items() if get_origin(hint) is NotRequired)
    return {name: _writer(hint) for name, hint in hints.items()}, constants, omissible


def _writer(hint: Any) -> Callable[[Any], Any]:  # noqa: ANN401
    """Return how a value is written as a hint of a `TypedDict` says."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in {NotRequired, Annotated}:
        return _writer(inner[0])
    if origin in {Union, UnionType}:
        return _union_writer(inner)
    if origin is list:
        element = _writer(inner[0])
        return lambda value: [element(each) for each in value]
    if origin is dict:
        entry = _writer(inner[1])
        return lambda value: {name: entry(each) for name, each in dict(value).items()}
    if is_typeddict(hint):
        return lambda value: value if isinstance(value, Mapping) else document_of(hint, value)
    return _present(str) if isinstance(hint, type) and issubclass(hint, str) else _present(lambda value: value)


def _union_writer(hints: tuple[Any, ...]) -> Callable[[Any], Any]:
    kinds = [each for each in hints if each is not NoneType]
    write = _writer(kinds[0]) if len(kinds) == 1 else _present(lambda value: value)
    empty = (None, "") if NoneType in hints else ()
    return lambda value: None if value in empty else write(value)


def _present(write: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def written(value: Any) -> Any:  # noqa: ANN401
        if value is None:
            raise TypeError("None is not a value of a field that may not be null")
        return write(value)

    return written

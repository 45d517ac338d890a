"""JSON Schemas of types: of the dataclasses that documents are read into, and of the documents that are written.

The schema of a dataclass is that of the documents that `core.structure.load` accepts, except what only a function
knows, such as the grammar of a version. A `TypedDict` describes a document that is only written: all its fields are
there, and a later version may add others.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, Field, is_dataclass
from datetime import date
from enum import StrEnum
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from envbuilder.core.conversion.records import bare, hinted_fields, rule_of
from envbuilder.core.field_rules import At, Entries, Inside, Named, NotEmpty, Parsed, Tagged, When
from envbuilder.core.versions import Release

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_SCALARS: Final[dict[Any, dict[str, Any]]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    object: {},
    Release: {"type": "string"},
    date: {"type": "string", "format": "date"},
}
_UNKNOWN: Final = ("", "nan", "inf", "-inf")
_ENTRY = re.compile(r"^(\w+): (.*(?:\n\s+.*)*)", re.MULTILINE)


def json_schema(hint: Any, name: str, *, closed: bool = True) -> dict[str, Any]:  # noqa: ANN401  a hint
    """Return the JSON Schema (draft 2020-12) of a type.

    Args:
        hint: A dataclass, a `TypedDict`, or a union of them.
        name: Name of the document.
        closed: Whether an unknown field of a dataclass is refused.
    """
    schemas = _Schemas(closed=closed)
    root = schemas.of(hint)
    described = {"description": _summary(hint)} if _summary(hint) else {}
    return {
        "$schema": DIALECT,
        "$id": f"urn:envbuilder:{name}:1",
        "title": f"envbuilder {name}",
        **described,
        **root,
        "$defs": dict(sorted(schemas.definitions.items())),
    }


class _Schemas:
    """Schemas of types; those of classes are definitions.

    Attributes:
        definitions: Schemas of classes by their names.
    """

    def __init__(self, *, closed: bool) -> None:
        self._closed = closed
        self._kinds: dict[str, Any] = {}
        self.definitions: dict[str, dict[str, Any]] = {}

    def of(self, hint: Any) -> dict[str, Any]:  # noqa: ANN401, PLR0911  one for each kind of hint
        """Return the schema of a hint."""
        if hint in _SCALARS:
            return dict(_SCALARS[hint])
        origin = get_origin(hint)
        if origin is Annotated:
            return self._annotated(hint)
        if origin in {Union, UnionType}:
            return self._union(get_args(hint))
        if origin in {tuple, list}:
            return {"type": "array", "items": self.of(get_args(hint)[0])}
        if origin is dict:
            return {"type": "object", "additionalProperties": self.of(get_args(hint)[1])}
        if origin is Literal:
            return {"enum": list(get_args(hint))}
        return self._class(hint, origin or hint)

    def _class(self, hint: Any, kind: Any) -> dict[str, Any]:  # noqa: ANN401
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            return {"enum": [each.value for each in kind]}
        if not (is_dataclass(kind) or is_typeddict(kind)):
            raise TypeError(f"no rule for values of {hint}")
        name = "".join(re.findall(r"\w+", f"{kind.__name__}{'Of' if get_args(hint) else ''}{_names(get_args(hint))}"))
        if self._kinds.setdefault(name, hint) != hint:
            raise TypeError(f"{hint} and {self._kinds[name]} have the same name in one schema")
        if name not in self.definitions:
            self.definitions[name] = {}
            self.definitions[name] = self._written(kind) if is_typeddict(kind) else self._record(hint, kind)
        return {"$ref": f"#/$defs/{name}"}

    def _union(self, kinds: tuple[Any, ...]) -> dict[str, Any]:
        # Programs write an empty text, or "nan", for unknown values.
        unknown = [] if self._closed or NoneType not in kinds or str in kinds else [{"enum": list(_UNKNOWN)}]
        return {"anyOf": [*(self.of(kind) for kind in kinds), *unknown]}

    def _written(self, kind: Any) -> dict[str, Any]:  # noqa: ANN401
        hints, notes = get_type_hints(kind, include_extras=True), dict(_fields_of(kind))
        properties = {
            name: ({"description": notes[name]} if name in notes else {})
            | self.of(get_args(each)[0] if get_origin(each) is NotRequired else each)
            for name, each in hints.items()
        }
        required = [
            name for name in hints if name in kind.__required_keys__ and get_origin(hints[name]) is not NotRequired
        ]
        return _object(properties, required, closed=False) | _described(kind)

    def _record(self, hint: Any, kind: Any) -> dict[str, Any]:  # noqa: ANN401
        notes = dict(_fields_of(kind))
        whole = _object({}, [], closed=self._closed)
        for each, inner in hinted_fields(hint):
            self._add(whole, each, inner, notes.get(each.name, ""))
        return whole | _described(kind)

    def _add(self, whole: dict[str, Any], field: Field[Any], hint: Any, note: str) -> None:  # noqa: ANN401
        """Add a field to an object: at its place, which may be in an inner object, or be the object itself."""
        at = rule_of(hint, At) or At(field.name)
        if not at.names:
            merged = self._merged(hint)
            whole["properties"] |= merged["properties"]
            whole["required"] += merged["required"]
            return
        is_required = not (_has_default(field) or NoneType in get_args(bare(hint)) or rule_of(hint, When) is not None)
        *outer, last = at.names
        for name in outer:
            if is_required and name not in whole["required"]:
                whole["required"].append(name)
            whole = whole["properties"].setdefault(name, _object({}, [], closed=self._closed))
        schema = self.of(hint)
        whole["properties"][last] = ({"description": note} if note else {}) | (
            schema if is_required or "anyOf" in schema or not schema else {"anyOf": [schema, {"type": "null"}]}
        )
        if is_required:
            whole["required"].append(last)

    def _merged(self, hint: Any) -> dict[str, Any]:  # noqa: ANN401
        kind = get_args(hint)[0]
        name = self.of(kind)["$ref"].rpartition("/")[2]
        del self._kinds[name]
        return self.definitions.pop(name)

    def _annotated(self, hint: Any) -> dict[str, Any]:  # noqa: ANN401, PLR0911  one for each rule
        plain, *rules = get_args(hint)
        for position, rule in reversed(list(enumerate(rules))):
            inner = Annotated[(plain, *rules[:position])] if position else plain
            match rule:
                case Parsed(of=of):
                    return self.of(of)
                case Named():
                    return {"type": "string"}
                case Tagged():
                    return self._tagged(get_args(bare(inner)), rule)
                case Entries():
                    return self._entries(get_args(bare(inner))[0])
                case Inside(name=name):
                    return _object({name: self.of(inner)}, [name], closed=self._closed)
                case NotEmpty():
                    return self.of(inner) | {"minItems": 1}
                case _:
                    continue
        return self.of(plain)

    def _tagged(self, kinds: tuple[Any, ...], rule: Tagged) -> dict[str, Any]:
        variants = []
        for value, kind in zip(rule.values, kinds, strict=True):
            name = self.of(kind)["$ref"].rpartition("/")[2]
            definition = self.definitions[name]
            definition["properties"] = {rule.name: {"const": value}, **definition["properties"]}
            definition["required"] = sorted({rule.name, *definition["required"]})
            variants.append({"$ref": f"#/$defs/{name}"})
        return {"anyOf": variants}

    def _entries(self, each: Any) -> dict[str, Any]:  # noqa: ANN401
        hints = get_args(each) if get_origin(each) is tuple else [hint for _, hint in hinted_fields(each)]
        return {"type": "object", "additionalProperties": self.of(hints[1])}


def _object(properties: dict[str, Any], required: list[str], *, closed: bool) -> dict[str, Any]:
    shape: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    return shape | ({"additionalProperties": False} if closed else {})


def _described(kind: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"description": summary} if (summary := _summary(kind)) else {}


def _summary(kind: Any) -> str:  # noqa: ANN401
    text = kind.__doc__ if isinstance(kind, type) else ""
    return inspect.cleandoc(text or "").split("\n\n")[0].replace("\n", " ")


def _fields_of(kind: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """Yield the fields that the docstring of a class describes."""
    _, found, entries = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:\n")
    if found:
        for entry in _ENTRY.finditer(inspect.cleandoc(entries)):
            yield entry[1], re.sub(r"\s+", " ", entry[2])


def _names(hints: tuple[Any, ...]) -> str:
    """Return a name for the arguments of a generic class."""
    return "".join(word.capitalize() for word in re.findall(r"[A-Za-z]+", " ".join(map(_name, hints))))


def _name(hint: Any) -> str:  # noqa: ANN401
    if get_origin(hint) is Annotated:
        plain, wrapped = get_args(hint)[0], rule_of(hint, Inside)
        # A text in an object with one field has another schema than a plain one.
        return f"{_name(plain)} {wrapped.name}" if wrapped and plain in _SCALARS else _name(plain)
    inner = " ".join(_name(each) for each in get_args(hint) if each is not ...)
    return f"{getattr(hint, '__name__', '')} {inner}"


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING

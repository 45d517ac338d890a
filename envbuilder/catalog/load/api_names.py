"""Decoder of `api.yaml`, the map of TensorFlow's public names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from envbuilder.catalog.api_names import ApiMap, ApiModule
from envbuilder.catalog.load.tables import SchemaNumber
from envbuilder.catalog.sources import SourceList
from envbuilder.core.conversion.reading import Mismatch
from envbuilder.core.field_rules import At, NotEmpty
from envbuilder.core.files import read_text
from envbuilder.core.versions import Release
from envbuilder.core.yaml.documents import read
from envbuilder.core.yaml.structured import structured


@dataclass(frozen=True, slots=True, kw_only=True)
class _Release:
    release: Release
    read: str
    sources: SourceList


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    span: Annotated[str, At("in")]
    have: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Module:
    module: str
    read: str
    names: Annotated[tuple[_Group, ...], NotEmpty()]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    schema: SchemaNumber
    releases: Annotated[tuple[_Release, ...], NotEmpty()]
    modules: Annotated[tuple[_Module, ...], NotEmpty()]


def load_api(folder: Path) -> ApiMap:
    """Read `api.yaml` of a catalog; return an empty map if the catalog has none.

    Raises:
        InvalidInput: With every fault of the file.
    """
    file = folder / "api.yaml"
    return read_api(read_text(file), str(file)) if file.exists() else ApiMap()


def read_api(text: str, name: str) -> ApiMap:
    """Decode the document.

    Raises:
        InvalidInput: With every fault of the document.
    """
    document = structured(_Document, read(text, name), name, check=_problems)
    known = tuple(each.release for each in document.releases)
    return ApiMap(releases=known, modules={each.module: _module(each, known) for each in document.modules})


def _problems(document: _Document) -> Iterator[Mismatch]:
    known = tuple(each.release for each in document.releases)
    if list(known) != sorted(set(known)):
        yield Mismatch(path=("releases",), problem="must be in ascending order, each once")
    for index, module in enumerate(document.modules):
        named = ((("names", number, "in"), group.span) for number, group in enumerate(module.names))
        for path, text in ((("read",), module.read), *named):
            try:
                spans(text, known)
            except ValueError as error:
                yield Mismatch(path=("modules", index, *path), problem=str(error))


def _module(plain: _Module, releases: tuple[Release, ...]) -> ApiModule:
    names: dict[str, frozenset[Release]] = {}
    for group in plain.names:
        names.update(dict.fromkeys(group.have.split(), spans(group.span, releases)))
    return ApiModule(read=spans(plain.read, releases), names=names)


@cache
def spans(text: str, releases: tuple[Release, ...]) -> frozenset[Release]:
    """Return the releases of a list of spans.

    Raises:
        ValueError: The text names a release that is not among `releases`.

    Example:
        >>> known = tuple(map(Release, ("1.4", "1.5", "1.6", "2.0")))
        >>> sorted(map(str, spans("1.4-1.5, 2.0", known)))
        ['1.4', '1.5', '2.0']
    """
    found: set[Release] = set()
    for span in text.split(", "):
        first, _, last = span.partition("-")
        ends = Release(first), Release(last or first)
        if ends[0] not in releases or ends[1] not in releases:
            raise ValueError(f"{span!r} refers to a release that is missing from `releases`")
        found.update(release for release in releases if ends[0] <= release <= ends[1])
    return frozenset(found)

"""Loader of the catalogs of teams, which are checked like the catalog of envbuilder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Protocol, TypeVar

from envbuilder.catalog.cuda import LibrarySet
from envbuilder.catalog.environments import BaseSystem, Catalog, Environment
from envbuilder.catalog.load.catalog import States, in_order, load_catalog, read_rows, states_of, structured_file
from envbuilder.catalog.load.tables import SchemaNumber, read_advisories, read_bases, read_libraries
from envbuilder.catalog.references import SPECS, CatalogPlace, TeamCatalog
from envbuilder.catalog.sources import Advisory
from envbuilder.core.canonical_json import inputs_digest
from envbuilder.core.conversion.reading import Path as FieldPath
from envbuilder.core.digests import digest_of_file
from envbuilder.core.errors import Fault, InvalidInput
from envbuilder.core.field_types import RowId
from envbuilder.core.files import read_text
from envbuilder.core.yaml.documents import read
from envbuilder.core.yaml.structured import line_of, structured

MANIFEST = "catalog.yaml"
_TABLES = ("advisories.yaml", "bases.yaml", "libraries.yaml")
_FOLDERS = ("environments", "evidence", "locks")


class _Entry(Protocol):
    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=_Entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Manifest:
    schema: SchemaNumber
    name: RowId
    overrides: tuple[RowId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contents:
    """One catalog as it was read.

    Attributes:
        manifest: Its name, and the environments that it overrides.
    """

    manifest: _Manifest
    rows: tuple[Environment, ...]
    bases: tuple[BaseSystem, ...]
    libraries: tuple[LibrarySet, ...]
    advisories: tuple[Advisory, ...]


def load_with_teams(folder: Path, teams: tuple[CatalogPlace, ...]) -> Catalog:
    """Read and cross-check the catalog of envbuilder and those of teams; only if a file has changed, as `load_catalog`.

    Raises:
        InvalidInput: With every fault of every file of the first catalog that has one.
    """
    return _loaded(folder, teams, tuple(states_of(each) for each in (folder, *(team.folder for team in teams))))


@lru_cache(maxsize=4)
def _loaded(folder: Path, teams: tuple[CatalogPlace, ...], _states: tuple[States, ...]) -> Catalog:
    return with_teams(load_catalog(folder), teams)


def with_teams(shipped: Catalog, places: Iterable[CatalogPlace]) -> Catalog:
    """Return a catalog with the environments of teams added, and with those replaced that they override.

    The places are in order of precedence, highest last.

    A catalog refers to its own tables and to those of envbuilder, which it cannot change: the same id in two catalogs
    is a fault, except for the environments that the later one lists under `overrides`.

    Raises:
        InvalidInput: With every fault of every file.
    """
    catalog, faults = shipped, list[Fault]()
    for place in places:
        found = _contents(place.folder, shipped, faults)
        if found:
            faults += _conflicts(catalog, found, place.folder)
            catalog = _extended(catalog, found, place)
    if faults:
        raise InvalidInput(tuple(faults))
    return catalog


def _contents(folder: Path, shipped: Catalog, faults: list[Fault]) -> _Contents | None:
    """Return the contents of a directory; None if its environments cannot be read; problems are added to `faults`."""
    before = len(faults)
    faults += _foreign_files(folder)
    manifest = structured_file(folder / MANIFEST, _read_manifest, faults)
    bases = _table(folder / "bases.yaml", read_bases, faults)
    libraries = _table(folder / "libraries.yaml", partial(read_libraries, archives=shipped.archives), faults)
    advisories = _table(folder / "advisories.yaml", read_advisories, faults)
    if manifest is None or len(faults) > before:
        return None
    tables = {
        "bases": _by_id(shipped.bases, bases),
        "libraries": _by_id(shipped.libraries, libraries),
        "advisories": _by_id(shipped.advisories, advisories),
    }
    rows = read_rows(folder, shipped.cuda, tables, faults)
    return _Contents(manifest=manifest, rows=rows, bases=bases, libraries=libraries, advisories=advisories)


def _read_manifest(text: str, file: str) -> _Manifest:
    return structured(_Manifest, read(text, file), file)


def _table(file: Path, decode: Callable[[str, str], tuple[T, ...]], faults: list[Fault]) -> tuple[T, ...]:
    """Return the entries of a file; none if there is no such file."""
    return structured_file(file, decode, faults) or () if file.exists() else ()


def _by_id(*tables: Iterable[_Entry]) -> dict[str, object]:
    return {entry.id: entry for table in tables for entry in table}


def _foreign_files(folder: Path) -> Iterator[Fault]:
    """Yield a fault for each YAML file that no loader reads, such as one in a misspelled directory."""
    known = re.compile(
        rf"{MANIFEST}|{'|'.join(map(re.escape, _TABLES))}|(?:{'|'.join(_FOLDERS)})/[^/]+\.yaml|{SPECS}/.+|(?:.+/)?\..+"
    )
    for file in sorted(file for suffix in ("yaml", "yml") for file in folder.rglob(f"*.{suffix}")):
        path = str(file.relative_to(folder))
        if not known.fullmatch(path):
            problem = f"is not a file of a catalog; known: {MANIFEST}, {', '.join(_TABLES)}, "
            problem += f"{', '.join(f'{each}/ID.yaml' for each in _FOLDERS)}, {SPECS}/NAME.yaml"
            yield Fault(file=str(file), line=0, field="", problem=problem)


def _conflicts(catalog: Catalog, found: _Contents, folder: Path) -> Iterator[Fault]:
    """Yield the faults of a catalog beside the catalogs before it."""
    name = found.manifest.name
    if any(team.name == name for team in catalog.teams):
        yield _fault(folder / MANIFEST, ("name",), f"another catalog has the name {name!r} too", "choose another name")
    yield from _double_rows(catalog, found, folder)
    yield from _useless_overrides(catalog, found, folder / MANIFEST)
    yield from _double_entries(folder / "bases.yaml", found.bases, catalog.bases)
    yield from _double_entries(folder / "libraries.yaml", found.libraries, catalog.libraries)
    yield from _double_entries(folder / "advisories.yaml", found.advisories, catalog.advisories)


def _double_rows(catalog: Catalog, found: _Contents, folder: Path) -> Iterator[Fault]:
    for row in found.rows:
        if catalog.environment(row.id) and row.id not in found.manifest.overrides:
            origin = catalog.origin(row.id)
            owner = f"the catalog {origin.name!r}" if origin else "the catalog of envbuilder"
            own = f"{row.id}-{found.manifest.name}"
            hint = f"list it under `overrides` in {MANIFEST}, or choose another id, such as {own}"
            file = folder / "environments" / f"{row.id}.yaml"
            yield _fault(file, ("id",), f"{owner} has this environment too", hint)


def _useless_overrides(catalog: Catalog, found: _Contents, manifest: Path) -> Iterator[Fault]:
    own = {row.id for row in found.rows}
    for index, each in enumerate(found.manifest.overrides):
        if each not in own:
            yield _fault(manifest, ("overrides", index), f"environments/{each}.yaml does not exist")
        elif catalog.environment(each) is None:
            yield _fault(manifest, ("overrides", index), f"no other catalog has {each!r}", "remove it")


def _double_entries(file: Path, own: Iterable[_Entry], others: Iterable[_Entry]) -> Iterator[Fault]:
    known = {entry.id for entry in others}
    for index, entry in enumerate(own):
        if entry.id in known:
            yield _fault(file, (file.stem, index, "id"), f"{entry.id!r} is in another catalog too", "choose another id")


def _fault(file: Path, path: FieldPath, problem: str, hint: str = "") -> Fault:
    field = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
    line = line_of(read(read_text(file), str(file)).root, path)
    return Fault(file=str(file), line=line, field=field, problem=problem, hint=hint)


def _extended(catalog: Catalog, found: _Contents, place: CatalogPlace) -> Catalog:
    own = {row.id for row in found.rows}
    team = TeamCatalog(
        name=found.manifest.name, place=place, digest=_digest(place.folder), environments=tuple(sorted(own))
    )
    return replace(
        catalog,
        environments=in_order((*(row for row in catalog.environments if row.id not in own), *found.rows)),
        bases=(*catalog.bases, *found.bases),
        libraries=(*catalog.libraries, *found.libraries),
        advisories=(*catalog.advisories, *found.advisories),
        teams=(*catalog.teams, team),
    )


def deciding_files(folder: Path) -> tuple[Path, ...]:
    """Return the files of a catalog that decide about environments and specs; evidence is not among them."""
    named = [folder / MANIFEST, *(folder / name for name in _TABLES), *(folder / "environments").glob("*.yaml")]
    files = [*named, *(folder / "locks").glob("*.yaml"), *(folder / SPECS).rglob("*")]
    return tuple(file for file in files if file.is_file())


def _digest(folder: Path) -> str:
    return inputs_digest({str(file.relative_to(folder)): digest_of_file(file) for file in deciding_files(folder)})

"""Specs that extend others: the files of a spec, from the most general to its own, and their values merged."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from packaging.requirements import InvalidRequirement, Requirement

from envbuilder.catalog.references import SPECS, CatalogReference, DirectoryReference, GitReference, TeamCatalog
from envbuilder.core.conversion.reading import Path as FieldPath
from envbuilder.core.errors import Fault, InvalidInput, UsageError
from envbuilder.core.files import read_text
from envbuilder.core.names import shown
from envbuilder.core.references import normalized
from envbuilder.core.yaml.documents import Mapping, Node, ParsedDocument, Scalar, Sequence, read
from envbuilder.core.yaml.structured import line_of, value_of
from envbuilder.lock.spec import Spec, decoded

EXTENDS = "extends"
_MOST_LAYERS = 8
_MAPPINGS: frozenset[FieldPath] = frozenset(
    {(), ("build_env",), ("env",), ("files",), ("labels",), ("user",), ("sources",), ("sources", "publishers")}
)
"""Mappings whose entries are merged; any other mapping replaces that of the extended spec."""
_LISTS: frozenset[FieldPath] = frozenset(
    {
        ("allow",),
        ("apt",),
        ("catalogs",),
        ("packages",),
        ("ports",),
        ("profiles",),
        ("source_builds",),
        ("build_tools",),
        ("build_requires",),
        ("sources", "python_archives"),
    }
)
"""Lists that are added to those of the extended spec; any other list replaces it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecLayer:
    """One file of a spec.

    Attributes:
        title: Its name for people: the path, or `CATALOG:NAME` for a spec of a catalog.
        spec: Its values by themselves; the environment is meaningless if the file does not name one.
    """

    path: Path
    title: str
    document: ParsedDocument
    spec: Spec

    @property
    def root(self) -> Mapping:
        """Its fields."""
        root = self.document.root
        return root if isinstance(root, Mapping) else Mapping(line=1, entries=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where one value of a merged spec comes from.

    Attributes:
        field: Its field, such as `packages` or `env.NAME`.
        file: Title of the layer.
        line: Line in its file.
    """

    field: str
    value: object
    file: str
    line: int


def spec_layers(path: Path, teams: tuple[TeamCatalog, ...]) -> tuple[SpecLayer, ...]:
    """Return the files of a spec: those that it extends, the most general first, and itself.

    Raises:
        InvalidInput: A file is invalid, or extends one that does not exist, itself, or too many.
    """
    layers = [*_local_layers(path)]
    if extended := layers[-1].spec.extends:
        layers += _catalog_layers(layers[-1], extended, teams)
    return tuple(reversed(layers))


def named_catalogs(path: Path) -> tuple[CatalogReference, ...]:
    """Return the catalogs that a spec and the specs of its project that it extends name; directories as paths.

    Raises:
        InvalidInput: A file is invalid.
    """
    found: dict[CatalogReference, None] = {}
    for layer in reversed([*_local_layers(path)]):
        found.update(dict.fromkeys(_located(reference, layer) for reference in layer.spec.catalogs))
    return tuple(found)


def _located(reference: CatalogReference, layer: SpecLayer) -> CatalogReference:
    match reference:
        case GitReference():
            return reference
        case DirectoryReference(path=path):
            folder = os.path.normpath(layer.path.parent / path)
            if Path(path).is_absolute() or not _is_inside(folder, _project(layer.path)):
                problem = f"{shown(path)} is outside the project: other machines do not have this directory"
                hint = "name it in ENVBUILDER_CATALOGS, or a commit of its repository here: git+URL@COMMIT"
                raise _fault(layer, "catalogs", problem, hint)
            return DirectoryReference(path=folder)
        case _:
            assert_never(reference)


def _local_layers(path: Path) -> Iterator[SpecLayer]:
    """Yield a spec and those of its project that it extends, itself first."""
    project = _project(path)
    seen: list[Path] = []
    layer = _layer(path, str(path), is_base=False)
    while True:
        yield layer
        seen.append(layer.path.resolve())
        extended = layer.spec.extends
        if not extended or ":" in extended:
            return
        file = _beside(layer, extended, project, "the project: copy it there, or use a catalog of your team")
        _refuse_repeated(layer, file, seen)
        layer = _layer(file, str(file), is_base=True)


def _catalog_layers(layer: SpecLayer, extended: str, teams: tuple[TeamCatalog, ...]) -> Iterator[SpecLayer]:
    """Yield the specs of a catalog that a spec extends, the nearest first."""
    name, _, inner = extended.partition(":")
    team = next((team for team in teams if team.name == name), None)
    if team is None:
        known = ", ".join(team.name for team in teams)
        hint = f"known: {known}" if known else "name it below `catalogs:`: git+URL@COMMIT"
        raise _fault(layer, EXTENDS, f"there is no catalog {shown(name)}", hint)
    place = team.place.folder / SPECS
    seen: list[Path] = []
    file = _beside(layer, f"{inner}.yaml", place, f"the directory {SPECS}/ of the catalog", folder=place)
    while True:
        _refuse_repeated(layer, file, seen)
        layer = _layer(file, f"{name}:{file.relative_to(place).with_suffix('')}", is_base=True)
        if layer.spec.catalogs:
            raise _fault(layer, "catalogs", "must be in the spec of a project: this one is in a catalog")
        yield layer
        seen.append(file.resolve())
        extended = layer.spec.extends
        if not extended:
            return
        if ":" in extended:
            raise _fault(layer, EXTENDS, f"must be a file of the directory {SPECS}/ of this catalog")
        file = _beside(layer, extended, place, f"the directory {SPECS}/ of the catalog")


def _beside(layer: SpecLayer, extended: str, root: Path, described: str, *, folder: Path | None = None) -> Path:
    """Return the file that a spec extends.

    Raises:
        InvalidInput: It does not exist, or is outside of `root`.
    """
    file = Path(os.path.normpath((folder or layer.path.parent) / extended))
    if Path(extended).is_absolute() or not _is_inside(file, root):
        raise _fault(layer, EXTENDS, f"{shown(extended)} is outside {described}")
    if not file.is_file():
        raise _fault(layer, EXTENDS, f"file not found: {file}")
    return file


def _is_inside(path: Path | str, root: Path) -> bool:
    """Return True if a path, with its symbolic links followed, is below a directory."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def _refuse_repeated(layer: SpecLayer, file: Path, seen: list[Path]) -> None:
    if file.resolve() in seen:
        raise _fault(layer, EXTENDS, f"{file} extends this spec in turn")
    if len(seen) >= _MOST_LAYERS:
        raise _fault(layer, EXTENDS, f"more than {_MOST_LAYERS} specs extend each other")


def _project(path: Path) -> Path:
    """Return the checkout that a spec is in; its own directory if it is in none."""
    folder = path.absolute().parent
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)


def _layer(path: Path, title: str, *, is_base: bool) -> SpecLayer:
    if not path.is_file():
        raise UsageError(f"file not found: {path}", hint="`envbuilder init ENV` writes one")
    document = read(read_text(path), str(path))
    return SpecLayer(
        path=path, title=title, document=document, spec=decoded(_complete(document, is_base=is_base), str(path))
    )


def _complete(document: ParsedDocument, *, is_base: bool) -> ParsedDocument:
    """Return a document that names an environment if another file of the spec may do so."""
    root = document.root
    names = {name for name, _ in root.entries} if isinstance(root, Mapping) else set()
    if not isinstance(root, Mapping) or "environment" in names or not (is_base or EXTENDS in names):
        return document
    entry = ("environment", Scalar(line=root.line, value="named-elsewhere"))
    return ParsedDocument(root=Mapping(line=root.line, entries=(*root.entries, entry)), faults=document.faults)


def _fault(layer: SpecLayer, field: str, problem: str, hint: str = "") -> InvalidInput:
    line = line_of(layer.root, (field,))
    return InvalidInput((Fault(file=str(layer.path), line=line, field=field, problem=problem, hint=hint),))


def merged(layers: Iterable[SpecLayer]) -> ParsedDocument:
    """Return the fields of all layers as one document: mappings are merged, lists are added, scalars replace.

    An entry point removes the command of the layers below it, which is arguments of theirs. Source:
    https://docs.docker.com/reference/dockerfile/#understand-how-cmd-and-entrypoint-interact
    """
    root = Mapping(line=1, entries=())
    for layer in layers:
        own = Mapping(line=1, entries=tuple(each for each in layer.root.entries if each[0] != EXTENDS))
        if "entrypoint" in dict(own.entries):
            root = Mapping(line=root.line, entries=tuple(each for each in root.entries if each[0] != "command"))
        root = Mapping(line=own.line, entries=_entries(root, own, ()))
    return ParsedDocument(root=root, faults=())


def _merged(base: Node, own: Node, path: FieldPath) -> Node:
    if isinstance(base, Mapping) and isinstance(own, Mapping) and path in _MAPPINGS:
        return Mapping(line=own.line, entries=_entries(base, own, path))
    if isinstance(base, Sequence) and isinstance(own, Sequence) and path in _LISTS:
        replaced = {_subject(item, path) for item in own.items}
        kept = tuple(item for item in base.items if _subject(item, path) not in replaced)
        return Sequence(line=own.line, items=(*kept, *own.items))
    return own


def _entries(base: Mapping, own: Mapping, path: FieldPath) -> tuple[tuple[str, Node], ...]:
    entries = dict(base.entries)
    for name, value in own.entries:
        entries[name] = _merged(entries[name], value, (*path, name)) if name in entries else value
    return tuple(entries.items())


def _subject(item: Node, path: FieldPath) -> str:
    """Return the subject of an entry of a list: of two about one package, the later one is used."""
    text = str(item.value) if isinstance(item, Scalar) else ""
    if path == ("packages",):
        try:
            return normalized(Requirement(text).name)
        except InvalidRequirement:
            return text
    return text.partition("=")[0] if path == ("apt",) else text


def origins(layers: tuple[SpecLayer, ...]) -> tuple[Origin, ...]:
    """Return each value of a merged spec with the file and line that it comes from, in the order of the document."""
    return tuple(_origins(merged(layers).root, (), layers))


def _origins(node: Node, path: FieldPath, layers: tuple[SpecLayer, ...]) -> Iterator[Origin]:
    if isinstance(node, Mapping):
        for name, value in node.entries:
            yield from _origins(value, (*path, name), layers)
    elif isinstance(node, Sequence):
        for item in node.items:
            layer, line = next(
                (layer, each.line) for layer in reversed(layers) for each in _items(layer.root, path) if each is item
            )
            yield Origin(field=_text(path), value=value_of(item), file=layer.title, line=line)
    else:
        layer = next(layer for layer in reversed(layers) if _at(layer.root, path) is node)
        yield Origin(field=_text(path), value=node.value, file=layer.title, line=node.line)


def _at(node: Node | None, path: FieldPath) -> Node | None:
    for step in path:
        node = dict(node.entries).get(str(step)) if isinstance(node, Mapping) else None
    return node


def _items(root: Node, path: FieldPath) -> tuple[Node, ...]:
    node = _at(root, path)
    return node.items if isinstance(node, Sequence) else ()


def _text(path: FieldPath) -> str:
    return ".".join(map(str, path))

"""Interpretation of ENV|LOCK on a command line: an environment, a lock, or the lock of the current directory."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from packaging.version import Version

from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.selection import named, select
from envbuilder.core.errors import Fault, InvalidInput
from envbuilder.core.references import image_name
from envbuilder.core.yaml.documents import Node
from envbuilder.core.yaml.structured import line_of
from envbuilder.lock.container_settings import workdir_problem
from envbuilder.lock.layered_specs import EXTENDS, SpecLayer, merged, spec_layers
from envbuilder.lock.lock import Lock, OwnFile, PrioritizedFiles
from envbuilder.lock.lockfile import LOCK, SPEC, lock_path, read_lock
from envbuilder.lock.own_files import beside, surveyed
from envbuilder.lock.prioritized_files import named_list
from envbuilder.lock.publishers import relative_to
from envbuilder.lock.spec import Spec, decoded

_MOST_CHARACTERS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class LockTarget:
    """An existing lock.

    Attributes:
        path: Path of its file.
        spec: The spec beside it; None if there is none.
    """

    path: Path
    lock: Lock
    spec: Spec | None


def target(catalog: Catalog, name: str | None, *, tensorflow: Version | None = None) -> LockTarget | Spec:
    """Return the lock for an argument, or for an environment a spec that only names it.

    Args:
        catalog: The environments.
        name: An environment, as `named` finds it, or the path of a lock; None for the lock in the current directory.
        tensorflow: Patch release; only for an environment, since a lock has its own.

    Raises:
        UsageError: There is no such environment or lock.
    """
    path = lock_path(name)
    if path is not None:
        spec_beside = beside_lock(path)
        spec = load_spec(spec_beside, catalog) if spec_beside else None
        return LockTarget(path=path, lock=read_lock(path), spec=spec)
    assert name is not None  # noqa: S101  `lock_path` refuses None where there is no lock
    return Spec(environment=select(catalog, named(catalog, name).id, tensorflow).id, tensorflow=tensorflow)


def default_name(path: Path, environment: str, rows: Collection[str]) -> str:
    """Return the default name of an image: the directory of an `envbuilder.lock`, else the file's stem.

    Args:
        path: The lock.
        environment: The environment of the lock.
        rows: Ids of the catalog's environments, which a team's lock never uses as its name.
    """
    given = path.resolve().parent.name if path.name == LOCK.name else path.stem
    words = image_words(given) or environment
    try:
        return image_name(f"own-{words}" if words in rows else words)
    except ValueError:
        return f"own-{words}"


def image_words(text: str) -> str:
    """Return the name of a file or directory with the characters of an image name only; may be empty.

    Example:
        >>> image_words("Sequence_Tagging")
        'sequence-tagging'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:_MOST_CHARACTERS].strip("-")


def load_spec(path: Path, catalog: Catalog) -> Spec:
    """Return the spec in a file, with the values of those that it extends.

    Interpreter archives, directories of publishers, own files and the list of files that are fetched first are relative
    to the file that names them.

    Raises:
        UsageError: There is no such file.
        InvalidInput: It is invalid.
    """
    layers = spec_layers(path, catalog.teams)
    spec = layers[-1].spec if len(layers) == 1 else _merged(layers)
    archives = [str(layer.path.parent / each) for layer in layers for each in layer.spec.sources.python_archives]
    publishers = {
        name: relative_to(place, layer.path.parent) for layer in layers for name, place in layer.spec.sources.publishers
    }
    sources = replace(
        spec.sources, python_archives=tuple(dict.fromkeys(archives)), publishers=tuple(sorted(publishers.items()))
    )
    files = _files(layers)
    if problem := workdir_problem(spec.settings.workdir, (file.path for file in files)):
        naming = next(layer for layer in reversed(layers) if layer.spec.settings.workdir)
        line = line_of(naming.root, ("workdir",))
        raise InvalidInput((Fault(file=str(naming.path), line=line, field="workdir", problem=problem),))
    return replace(spec, files=files, prioritized=_prioritized(layers), sources=sources)


def _merged(layers: tuple[SpecLayer, ...]) -> Spec:
    """Return the spec of several files; each is valid by itself."""
    own = layers[-1]
    try:
        return decoded(merged(layers), str(own.path))
    except InvalidInput as error:
        line = line_of(own.root, (EXTENDS,))
        files = " and ".join(layer.title for layer in layers[:-1])
        faults = tuple(
            replace(fault, line=line, problem=f"{fault.problem} (together with {files})") for fault in error.faults
        )
        raise InvalidInput(faults) from error


def _files(layers: tuple[SpecLayer, ...]) -> tuple[OwnFile, ...]:
    """Return the own files of all layers; an entry replaces that of the same path in an extended spec."""
    found: tuple[OwnFile, ...] = ()
    later: set[str] = set()
    for layer in reversed(layers):
        named = tuple(file for file in layer.spec.files if file.path not in later)
        later |= {file.path for file in named}
        line = partial(_line_of_file, layer.root)
        own = surveyed(named, layer.path.parent, str(layer.path), line)
        found = beside(own, found, str(layer.path), line)
    return found


def _prioritized(layers: tuple[SpecLayer, ...]) -> PrioritizedFiles:
    """Return the list of files that are fetched first, of the last layer that names one."""
    naming = next((layer for layer in reversed(layers) if layer.spec.prioritized_files), None)
    if naming is None:
        return ()
    try:
        return named_list(naming.spec.prioritized_files, naming.path.parent)
    except ValueError as error:
        field = "prioritized_files"
        fault = Fault(
            file=str(naming.path),
            line=line_of(naming.root, (field,)),
            field=field,
            problem=str(error),
            hint="`envbuilder run --record-reads FILE` writes one",
        )
        raise InvalidInput((fault,)) from error


def _line_of_file(root: Node, path: str) -> int:
    return line_of(root, ("files", path))


def beside_lock(path: Path) -> Path | None:
    """Return the spec of a lock; None if there is none beside it."""
    spec = path.parent / SPEC
    return spec if path.name == LOCK.name and spec.is_file() else None

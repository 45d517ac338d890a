"""Expansion and hashing of a spec's own files, and their conflicts with each other."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from envbuilder.core.errors import Fault, InvalidInput
from envbuilder.core.files import CHUNK
from envbuilder.core.image_paths import image_path, parents
from envbuilder.lock.lock import OwnFile

_MOST_FILES = 100_000
_OUTSIDE = "{source} is outside the directory of the spec: copy it there and use the copy"


def surveyed(files: Iterable[OwnFile], folder: Path, spec: str, line_of: Callable[[str], int]) -> tuple[OwnFile, ...]:
    """Return own files with hashes and sizes; expand directories, and follow symbolic links.

    A spec may come from an untrusted author: sources outside the directory of the spec are refused.

    Args:
        files: As a spec names them; sources are relative to `folder`.
        folder: Directory of the spec.
        spec: Path of the spec, for the faults.
        line_of: Returns the line of an entry of `files`, for the faults.

    Returns:
        Sorted by path; sources are paths on this machine.

    Raises:
        InvalidInput: A source is missing, unreadable, no regular file, or outside `folder`; two have the same path in
            the image; or one lies below another.
    """
    faults: list[Fault] = []
    found: dict[str, OwnFile] = {}
    for named in files:
        try:
            found_files = islice(_expanded(named.path, named.source, folder), _MOST_FILES + 1)
            added = [_hashed(path, source, folder) for path, source in found_files]
            problem = _clash(added, found) if len(added) <= _MOST_FILES else f"has more than {_MOST_FILES} files"
        except (OSError, ValueError) as error:
            added = []
            problem = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        if problem:
            field = f"files.{named.path}"
            faults.append(Fault(file=spec, line=line_of(named.path), field=field, problem=problem))
        found |= {file.path: file for file in added}
    if faults:
        raise InvalidInput(tuple(faults))
    return tuple(found[path] for path in sorted(found))


def beside(
    general: Iterable[OwnFile], special: Iterable[OwnFile], spec: str, line_of: Callable[[str], int]
) -> tuple[OwnFile, ...]:
    """Return the own files of a spec with those of a spec that extends it, which replace files of the same path.

    Args:
        general: Files of the extended spec.
        special: Files of the other one.
        spec: Path of the extended spec, for the faults.
        line_of: Returns the line of an entry of its `files`, for the faults.

    Raises:
        InvalidInput: A file of one has the path of a directory of the other.
    """
    found = {file.path: file for file in special}
    kept = [file for file in general if file.path not in found]
    if problem := _clash(kept, found):
        raise InvalidInput((Fault(file=spec, line=line_of(""), field="files", problem=problem),))
    return tuple(sorted((*kept, *found.values()), key=lambda file: file.path))


def _clash(added: Iterable[OwnFile], found: Mapping[str, OwnFile]) -> str:
    """Return the conflict of new files with those found before; empty for none."""
    folders = {above for path in found for above in parents(path)}
    for file in added:
        if file.path in found:
            return f"{found[file.path].source} also has the path {file.path}"
        if file.path in folders:
            return f"{file.path} is a directory of other files"
        above = next((each for each in parents(file.path) if each in found), None)
        if above:
            return f"{above} is a file, and {file.path} would be below it"
    return ""


def _expanded(path: str, source: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of one entry: path in the image, and path on this machine."""
    place = folder / source
    parts = PurePosixPath(source).parts
    if PurePosixPath(source).is_absolute() or ".." in parts:
        raise ValueError(_OUTSIDE.format(source=source))
    if place.is_dir():
        yield from _below(path, place, folder, (_inside(place, folder),))
    else:
        yield path, place


def _below(path: str, place: Path, folder: Path, above: tuple[Path, ...]) -> Iterator[tuple[str, Path]]:
    """Yield the files of a directory, by name.

    Args:
        path: Its path in the image.
        place: Its path on this machine.
        folder: Directory of the spec.
        above: Resolved directories from the top to this one; a link to one of them would be an endless loop.
    """
    for name in sorted(entry.name for entry in os.scandir(place)):
        inside = place / name
        if not inside.is_dir():
            yield image_path(f"{path}/{name}"), inside
            continue
        real = _inside(inside, folder)
        if real in above:
            raise ValueError(f"{inside} is a link to one of its parent directories")
        yield from _below(f"{path}/{name}", inside, folder, (*above, real))


def _inside(place: Path, folder: Path) -> Path:
    """Return the resolved path of a file or directory.

    Raises:
        ValueError: It is outside the directory of the spec.
    """
    real = Path(os.path.realpath(place))
    if not real.is_relative_to(os.path.realpath(folder)):
        raise ValueError(_OUTSIDE.format(source=place))
    return real


def _hashed(path: str, source: Path, folder: Path) -> OwnFile:
    with _opened(source, folder) as stream:
        state = os.fstat(stream.fileno())
        content, size = hashlib.sha256(), 0
        while size <= state.st_size and (piece := stream.read(CHUNK)):
            content.update(piece)
            size += len(piece)
    # Files of /proc have content although their size is 0.
    if size != state.st_size:
        raise ValueError(
            f"{source} has {state.st_size} bytes and gives {size}: it is being changed, or is not a regular file"
        )
    return OwnFile(
        path=path,
        source=str(source),
        sha256=content.hexdigest(),
        size=size,
        executable=bool(state.st_mode & 0o111),
    )


def _opened(source: Path, folder: Path) -> BinaryIO:
    """Open a regular file below the directory, without blocking on or following a file that replaces it meanwhile."""
    real = _inside(source, folder)
    try:
        handle = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise ValueError(f"file not found: {source}") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ValueError(f"{source} is neither a file nor a directory")
    return os.fdopen(handle, "rb")

"""The user's own files of a spec: looked into, hashed, and compared with the rest of the image."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from envbuilder.errors import Fault, InvalidInput
from envbuilder.files import CHUNK
from envbuilder.model.locks import OwnFile
from envbuilder.reading.paths import image_path


def surveyed(files: Iterable[OwnFile], folder: Path, spec: str, line_of: Callable[[str], int]) -> tuple[OwnFile, ...]:
    """Own files with hashes and sizes; a folder becomes the files in it, symbolic links what they point to.

    Args:
        files: As a spec names them; sources are meant relative to `folder`.
        folder: Where the spec lies.
        spec: Path of the spec, for the faults.
        line_of: Line of a field of the spec, likewise.

    Returns:
        Sorted by path; sources are paths on this machine.

    Raises:
        InvalidInput: A source is missing or unreadable, two have the same path in the image, or one lies below another.
    """
    faults: list[Fault] = []
    found: dict[str, OwnFile] = {}
    for named in files:
        try:
            added = [_hashed(path, source) for path, source in _expanded(named.path, folder / named.source)]
            problem = _clash(added, found)
        except (OSError, ValueError) as error:
            added = []
            problem = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        if problem:
            field = f"files.{named.path}"
            faults.append(Fault(file=spec, line=line_of(field), field=field, problem=problem))
        found |= {file.path: file for file in added}
    if faults:
        raise InvalidInput(tuple(faults))
    return tuple(found[path] for path in sorted(found))


def _clash(added: Iterable[OwnFile], found: Mapping[str, OwnFile]) -> str:
    """What stands in the way of files; empty for nothing."""
    folders = {above for path in found for above in _above(path)}
    for file in added:
        if file.path in found:
            return f"{found[file.path].source} has the path {file.path} too"
        if file.path in folders:
            return f"{file.path} is a folder of other files"
        above = next((each for each in _above(file.path) if each in found), None)
        if above:
            return f"{above} is a file, and {file.path} would lie in it"
    return ""


def _expanded(path: str, source: Path) -> Iterator[tuple[str, Path]]:
    if not source.is_dir():
        yield path, source
        return
    for place, folders, names in os.walk(source, followlinks=False):
        folders.sort()
        for name in sorted(names):
            inside = Path(place, name)
            yield image_path(f"{path}/{inside.relative_to(source).as_posix()}"), inside


def _hashed(path: str, source: Path) -> OwnFile:
    if not source.is_file():
        raise ValueError(f"there is no file {source}")
    content = hashlib.sha256()
    with source.open("rb") as stream:
        while piece := stream.read(CHUNK):
            content.update(piece)
        state = os.fstat(stream.fileno())
    return OwnFile(
        path=path,
        source=str(source),
        sha256=content.hexdigest(),
        size=state.st_size,
        executable=bool(state.st_mode & 0o111),
    )


def _above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path

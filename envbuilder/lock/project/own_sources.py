"""Files of a project that its Dockerfile copies into the image, as own files of a spec."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from posixpath import normpath

from envbuilder.core.errors import InvalidInput
from envbuilder.core.image_paths import image_path
from envbuilder.lock.lock import OwnFile
from envbuilder.lock.own_files import surveyed
from envbuilder.lock.project.clues import Clue, UnusedLine
from envbuilder.lock.project.reading import SKIPPED

_IGNORED = ".dockerignore"
_OWN = ("envbuilder.yaml", "envbuilder.lock")
"""Files of envbuilder: a lock that had its own hash would never be up to date."""


def own_files(folder: Path, copies: Iterable[Clue]) -> tuple[tuple[OwnFile, ...], tuple[UnusedLine, ...]]:
    """Return the own files of a spec, and the lines that copy something else.

    Directories that are copied as a whole are named entry by entry, without hidden files, builds, virtual environments,
    and what `.dockerignore` names.
    """
    accepted: dict[str, OwnFile] = {}
    unused: list[UnusedLine] = []
    for clue in copies:
        source, target = shlex.split(clue.value)
        try:
            named = {file.path: file for file in _named(folder, source, target)}
            surveyed({**accepted, **named}.values(), folder, "", lambda _: 0)
        except ValueError as error:
            unused.append(UnusedLine(line=clue.line, reason=str(error)))
        except InvalidInput as error:
            unused.append(UnusedLine(line=clue.line, reason=error.faults[0].problem))
        else:
            accepted |= named
    return tuple(accepted[path] for path in sorted(accepted)), tuple(unused)


def _named(folder: Path, source: str, target: str) -> Iterator[OwnFile]:
    """Yield the own files of one instruction.

    Args:
        folder: Directory of the project.
        source: Path in it, which may have wildcards.
        target: Absolute path in the image; with a final slash for a directory.

    Raises:
        ValueError: The project does not have the files; or they cannot be there.
    """
    place = normpath(source.lstrip("/")) if source != "/" else "."
    into = target.rstrip("/")
    if place == ".":
        entries = [(f"{into}/{name}", name) for name in _entries(folder)]
    elif set(place) & set("*?["):
        entries = [(f"{into}/{path.name}", str(path.relative_to(folder))) for path in sorted(folder.glob(place))]
    elif (folder / place).is_dir():
        entries = [(into, place)]
    else:
        entries = [(f"{into}/{Path(place).name}" if target.endswith("/") else target, place)]
    if not entries or not all((folder / name).exists() for _, name in entries):
        raise ValueError(f"the project has no {source}")
    for path, name in entries:
        yield OwnFile(path=image_path(path), source=name)


def _entries(folder: Path) -> list[str]:
    """Return the names of the entries of a project that belong into an image, sorted."""
    file = folder / _IGNORED
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []
    ignored = [line.strip().strip("/") for line in lines if line.strip() and not line.startswith(("#", "!"))]
    return sorted(
        path.name
        for path in folder.iterdir()
        if not path.name.startswith(".")
        and path.name not in {*SKIPPED, *_OWN}
        and not any(fnmatchcase(path.name, pattern) for pattern in ignored)
    )

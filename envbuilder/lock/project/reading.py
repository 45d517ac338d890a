"""The files of a project, within limits, and all clues in them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeAlias

from envbuilder.core.errors import UsageError
from envbuilder.core.files import open_regular
from envbuilder.core.versions import Release
from envbuilder.lock.project.clues import Clue, ClueKind, Confidence, Reading, SourceLine, UnusedFile, UnusedLine
from envbuilder.lock.project.dockerfiles import dockerfile_readings
from envbuilder.lock.project.environment_files import (
    apt_readings,
    conda_readings,
    pipfile_lock_readings,
    pipfile_readings,
    pylock_readings,
    runtime_readings,
)
from envbuilder.lock.project.metadata_files import pyproject_readings, setup_cfg_readings, setup_py_readings
from envbuilder.lock.project.requirements_files import is_development, requirements_readings
from envbuilder.lock.project.source_files import (
    CUDA_SUFFIXES,
    cuda_readings,
    installed,
    notebook_readings,
    source_readings,
)

_VERSION = re.compile(
    r"\b(tensorflow|tf|keras)(?:[- ]?gpu)?(?P<bound>[ :(]{0,3}>=)?[ :=vr(]{0,4}(\d+\.\d+)(?:\.\d+)?(?![\d.]*\d)"
    r"(?P<open> ?\+| (?:or|and) (?:later|newer|higher|above|greater|up)\b)?"
    r"(?P<others>(?:(?:, ?(?:and |or )?| ?[-\u2013] ?| (?:and|or|to) )\d+\.\d+(?:\.\d+)?(?![\d.]*\d)){0,20})",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"\[(?P<words>[^\]]*)\]\([^)]*\)|[*`]")
"""Links and emphasis of Markdown: `[TensorFlow](https://…) 1.15`, `**TensorFlow** 1.15`."""
_Reader: TypeAlias = Callable[[Mapping[str, str], str], Iterator[Reading]]


def _of_text(read: Callable[[str, str], Iterator[Reading]]) -> _Reader:
    return lambda files, name: read(files[name], name)


def _requirements(files: Mapping[str, str], name: str) -> Iterator[Reading]:
    if is_development(name):
        raise UnusedFile("has requirements of development only")
    return requirements_readings(files, name)


def readme_readings(text: str, name: str) -> Iterator[Reading]:
    """Yield what the lines of a README install by pip, and the versions that it names: `TensorFlow 1.6`, `TF 1.4+`."""
    for number, line in enumerate(text.splitlines(), 1):
        place = SourceLine(file=name, number=number, text=line)
        yield from installed(re.sub(r"^[\s>$`*0-9.-]+|`.*$", "", line), place)
        for found in _VERSION.finditer(_MARKUP.sub(r"\g<words>", line)):
            kind = ClueKind.KERAS if found[1].lower() == "keras" else ClueKind.TENSORFLOW
            yield Clue(kind=kind, value=_range(found), line=place, confidence=Confidence.GUESSED)


def _range(found: re.Match[str]) -> str:
    """Return the range of versions that a README names: `1.4`, `1.4+`, `1.4, 1.5 and 1.6`."""
    if found["bound"] or found["open"]:
        return f">={found[3]}"
    named = [Release(found[3]), *(Release(each) for each in re.findall(r"\d+\.\d+", found["others"]))]
    major, minor = max(named).parts[:2]
    return f"=={found[3]}.*" if len(named) == 1 else f">={min(named)},<{major}.{minor + 1}"


_READERS: tuple[tuple[str, _Reader], ...] = (
    ("*requirements*.txt", _requirements),
    ("requirements/*.txt", _requirements),
    ("pyproject.toml", _of_text(pyproject_readings)),
    ("setup.cfg", _of_text(setup_cfg_readings)),
    ("setup.py", _of_text(setup_py_readings)),
    ("environment*.y*ml", _of_text(conda_readings)),
    ("Pipfile", _of_text(pipfile_readings)),
    ("Pipfile.lock", _of_text(pipfile_lock_readings)),
    ("pylock*.toml", _of_text(pylock_readings)),
    ("runtime.txt", _of_text(runtime_readings)),
    (".python-version", _of_text(runtime_readings)),
    ("apt.txt", _of_text(apt_readings)),
    ("Dockerfile*", dockerfile_readings),
    ("README*", _of_text(readme_readings)),
    ("*.ipynb", _of_text(notebook_readings)),
    ("*.py", _of_text(source_readings)),
    *((f"*{suffix}", cuda_readings) for suffix in CUDA_SUFFIXES),
)
"""Readers by pattern of the name, first match; patterns without a slash are for any directory for sources only."""
_ANYWHERE = frozenset({"*.py", "*.ipynb", *(f"*{suffix}" for suffix in CUDA_SUFFIXES)})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectReading:
    """All that the files of a project say.

    Attributes:
        clues: In the order of the files.
        unused: Lines that are not taken over, with reasons.
        files: Paths that were read.
    """

    clues: tuple[Clue, ...]
    unused: tuple[UnusedLine, ...]
    files: tuple[str, ...]


def read_project(files: Mapping[str, str]) -> ProjectReading:
    """Read the files of a project.

    Args:
        files: Texts by relative path. Files of packaging are read at the top and one directory below; sources anywhere.
    """
    found: list[Reading] = []
    read: list[str] = []
    for name in sorted(files, key=_rank):
        reader = reader_of(name)
        if reader:
            read.append(name)
            found += _readings(reader, files, name)
    return ProjectReading(
        clues=tuple(dict.fromkeys(each for each in found if isinstance(each, Clue))),
        unused=tuple(dict.fromkeys(each for each in found if isinstance(each, UnusedLine))),
        files=tuple(read),
    )


def _readings(reader: _Reader, files: Mapping[str, str], name: str) -> Iterator[Reading]:
    try:
        yield from reader(files, name)
    except UnusedFile as error:
        yield UnusedLine(line=SourceLine(file=name, number=0), reason=str(error))


def reader_of(name: str) -> _Reader | None:
    """Return the reader of a file by its path; None for files that say nothing."""
    base = name.rsplit("/", 1)[-1]
    for pattern, reader in _READERS:
        if fnmatchcase(name if "/" in pattern else base, pattern):
            near = name.count("/") <= 1 or pattern in _ANYWHERE
            return reader if near else None
    return None


def _rank(name: str) -> tuple[int, int, str]:
    """Return the sort key of files: nearer to the top first, then in the order of the readers."""
    base = name.rsplit("/", 1)[-1]
    place = next((at for at, (pattern, _) in enumerate(_READERS) if fnmatchcase(base, pattern)), len(_READERS))
    return name.count("/"), place, name


LARGEST = 8 << 20
"""Bytes of the largest file that is read; notebooks with pictures have several MiB."""
MOST = 5_000
"""Files that are read at most."""
SKIPPED = frozenset(
    {"__pycache__", "build", "dist", "env", "node_modules", "site-packages", "third_party", "vendor", "venv"}
)
"""Names of directories with builds, virtual environments and copies of other projects."""


def project_files(folder: Path) -> Mapping[str, str]:
    """Return the texts of the files of a project that may say something, by their path relative to it.

    Directories with hidden names, builds, virtual environments and copies of other projects are left out; so are files
    above `LARGEST`, and sources after the first `MOST`.

    Raises:
        UsageError: It is not a directory.
    """
    if not folder.is_dir():
        raise UsageError(f"not a directory: {folder}", hint="name the directory of a project")
    found: dict[str, str] = {}
    for path in _paths(folder):
        if len(found) == MOST:
            break
        text = _text(folder / path)
        if text is not None:
            found[path] = text
    return found


def _paths(folder: Path) -> Iterator[str]:
    for directory, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED and not name.startswith("."))
        below = Path(directory).relative_to(folder)
        for name in sorted(names):
            path = (below / name).as_posix()
            if reader_of(path):
                yield path


def _text(path: Path) -> str | None:
    if path.is_symlink():
        return None
    try:
        with open_regular(path) as stream:
            content = stream.read(LARGEST + 1)
    except OSError:
        return None
    return content.decode("utf-8-sig", errors="replace") if len(content) <= LARGEST else None

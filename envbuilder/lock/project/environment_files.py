"""Environments of other tools: conda, Pipenv, `pylock.toml`, and the small files of repo2docker and Heroku."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from envbuilder.core.errors import InvalidInput
from envbuilder.core.yaml.documents import read
from envbuilder.core.yaml.structured import plain_of
from envbuilder.lock.project.clues import (
    Clue,
    ClueKind,
    Confidence,
    Reading,
    SourceLine,
    UnusedFile,
    UnusedLine,
    requirement_clues,
)
from envbuilder.lock.project.metadata_files import line_with, poetry_readings, toml_document

_CONDA = re.compile(r"(?:[\w.-]+::)?([A-Za-z0-9_.-]+)\s*([=<>!~].*)?")
_SOFTWARE = {"python": ClueKind.PYTHON, "cudatoolkit": ClueKind.CUDA, "cudnn": ClueKind.CUDNN}
_OTHER_NAMES = {"opencv": "opencv-python-headless", "py-opencv": "opencv-python-headless", "pytables": "tables"}
"""Names on a Python index of packages of conda."""
_NOT_PYTHON = frozenset({"pip", "gcc", "gxx", "cmake", "git", "make", "libgcc", "mkl", "setuptools", "wheel", "ffmpeg"})
"""Packages of conda that are no Python packages, or belong to the installer."""


def conda_readings(text: str, name: str) -> Iterator[Reading]:
    """Yield what an `environment.yml` of conda says."""
    try:
        document = plain_of(read(text, name).root)
    except (InvalidInput, ValueError) as error:
        raise UnusedFile(f"cannot be read: {str(error).splitlines()[0]}") from error
    entries = document.get("dependencies") if isinstance(document, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            pins = entry.get("pip")
            for pin in pins if isinstance(pins, list) else ():
                yield from requirement_clues(str(pin), line_with(str(pin), text, name), Confidence.STATED)
        else:
            yield from _conda_package(str(entry), line_with(str(entry), text, name))


def _conda_package(text: str, line: SourceLine) -> Iterator[Reading]:
    found = _CONDA.fullmatch(text.strip())
    if found is None:
        yield UnusedLine(line=line, reason="is not a package of conda")
        return
    package, versions = found[1].lower(), _conda_range(found[2] or "")
    kind = _SOFTWARE.get(package)
    if kind:
        yield Clue(kind=kind, value=versions, line=line, confidence=Confidence.STATED)
    elif package in _NOT_PYTHON or package.startswith(("_", "lib")):
        yield UnusedLine(line=line, reason="is a package of conda, not of Python")
    else:
        yield from requirement_clues(f"{_OTHER_NAMES.get(package, package)}{versions}", line, Confidence.STATED)


def _conda_range(text: str) -> str:
    """Return a range of conda, `=1.4=build` or `>=1.4`, as one of pip; a single `=` stands for all patch releases.

    Example:
        >>> _conda_range("=1.14.0=gpu_py36h"), _conda_range("==1.4"), _conda_range(">=3.6,<3.8"), _conda_range("")
        ('==1.14.0.*', '==1.4', '>=3.6,<3.8', '')
    """
    plain = text.replace(" ", "")
    if plain.startswith("=") and not plain.startswith("=="):
        version = plain[1:].split("=")[0].removesuffix(".*").removesuffix("*")
        return f"=={version}.*"
    return plain


def pipfile_readings(text: str, name: str) -> Iterator[Reading]:
    """Yield what a `Pipfile` says."""
    document = toml_document(text)
    for package, value in _table(document.get("packages")).items():
        yield from poetry_readings(package, value, text, name)
    python = _table(document.get("requires")).get("python_version")
    if isinstance(python, str):
        line = line_with("python_version", text, name)
        yield Clue(kind=ClueKind.PYTHON, value=f"=={python}.*", line=line, confidence=Confidence.STATED)


def pipfile_lock_readings(text: str, name: str) -> Iterator[Reading]:
    """Yield what a `Pipfile.lock` says."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise UnusedFile("is not JSON") from error
    for package, value in _table(_table(document).get("default")).items():
        yield from poetry_readings(package, {"version": _table(value).get("version", "")}, text, name)


def pylock_readings(text: str, name: str) -> Iterator[Reading]:
    """Yield what a `pylock.toml` says.

    Source: https://packaging.python.org/en/latest/specifications/pylock-toml/ (version 1.0, read 2026-11-23).
    """
    document = toml_document(text)
    python = document.get("requires-python")
    if isinstance(python, str):
        line = line_with("requires-python", text, name)
        yield Clue(kind=ClueKind.PYTHON, value=python, line=line, confidence=Confidence.STATED)
    packages = document.get("packages")
    for each in packages if isinstance(packages, list) else ():
        package, version = _table(each).get("name"), _table(each).get("version")
        if isinstance(package, str) and isinstance(version, str):
            line = line_with(f'"{package}"', text, name)
            yield from requirement_clues(f"{package}=={version}", line, Confidence.STATED)


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def runtime_readings(text: str, name: str) -> Iterator[Reading]:
    """Yield the interpreter of a `runtime.txt` (`python-3.6.8`) or a `.python-version`."""
    found = re.match(r"(?:python-)?(\d+\.\d+)", text.strip())
    if found:
        line = SourceLine(file=name, number=1, text=text.splitlines()[0])
        yield Clue(kind=ClueKind.PYTHON, value=f"=={found[1]}.*", line=line, confidence=Confidence.STATED)


def apt_readings(text: str, name: str) -> Iterator[Reading]:
    """Yield the OS packages of an `apt.txt`."""
    for number, line in enumerate(text.splitlines(), 1):
        for package in line.split("#")[0].split():
            place = SourceLine(file=name, number=number, text=line)
            yield Clue(kind=ClueKind.OS_PACKAGE, value=package, line=place, confidence=Confidence.STATED)

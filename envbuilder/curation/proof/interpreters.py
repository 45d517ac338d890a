"""The interpreters of this host: named directories first, then the search path."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.versions import Release

_ASK = (
    "import os, platform, struct, sys; "
    "libc = (os.confstr('CS_GNU_LIBC_VERSION') or '-').split()[-1]; "
    "version = '.'.join(map(str, sys.version_info[:3])); "
    "print(platform.python_implementation(), platform.machine(), struct.calcsize('P'), libc, version)"
)
_TIME_LIMIT = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPython:
    """A CPython of this host.

    Attributes:
        glibc: Version of the C library that it runs with.
    """

    path: Path
    version: Release
    glibc: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPythons:
    """The interpreters of this host.

    Attributes:
        folders: Prefixes of installations (`/opt/python3.8`), or directories with several of them, as the user names
            them.
        search: The search path of this process, in order.
        environ: Environment in which a candidate is asked for its version.
    """

    folders: tuple[Path, ...]
    search: tuple[Path, ...]
    environ: Mapping[str, str]

    def find(self, python: Release) -> HostPython | None:
        """Return a CPython for x86-64 and glibc with this major and minor version; None if there is none."""
        for path in self._candidates(f"python{python}"):
            found = _ask(path, self.environ)
            if found is not None and found.version.head(2) == python.head(2):
                return found
        return None

    def _candidates(self, name: str) -> Iterator[Path]:
        named = [prefix for folder in self.folders for prefix in (folder, *sorted(_children(folder), reverse=True))]
        for folder in (*(prefix / "bin" for prefix in named), *self.search):
            path = folder / name
            if path.is_file():
                yield path


def _children(folder: Path) -> list[Path]:
    return [child for child in folder.iterdir() if child.is_dir()] if folder.is_dir() else []


def _ask(path: Path, environ: Mapping[str, str]) -> HostPython | None:
    """Return an interpreter's properties; None if it does not start or no wheels are made for it."""
    try:
        done = subprocess.run(
            [str(path), "-I", "-c", _ASK],
            env=dict(environ),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIME_LIMIT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = done.stdout.split()
    if done.returncode or len(words) != 5 or words[:3] != ["CPython", "x86_64", "8"] or words[3] == "-":
        return None
    return HostPython(path=path, version=Release(words[4]), glibc=words[3])

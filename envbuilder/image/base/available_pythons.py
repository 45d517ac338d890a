"""Interpreters that a build here could use: programs of this machine and archives of the cache. None is run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from envbuilder.catalog.buildable import PackedPython
from envbuilder.core import structure
from envbuilder.core.elf_segments import read_dynamic_names
from envbuilder.core.files import read_json
from envbuilder.core.versions import Release

_GLIBC = re.compile(rb"\0GLIBC_([0-9]+(?:\.[0-9]+)+)(?=\0)")
"""Name of a symbol version in the string table of an ELF file."""

# Below the home directory, where no variable says otherwise.
_CONDA = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba")


def python_programs(version: Release, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the programs that have the name of a version, without two that are the same file."""
    series = version.series
    name = f"python{series}"
    places = [
        place for root, pattern in _roots(series, environ) for place in sorted(root.glob(f"{pattern}/{name}"))
    ] + [folder / name for folder in _path(environ)]
    programs: dict[Path, Path] = {}
    for place in places:
        if place.is_file():
            programs.setdefault(place.resolve(), place)
    return tuple(programs.values())


def is_of_system(program: Path) -> bool:
    """Return True if a program belongs to the operating system; such an interpreter cannot be packed."""
    return program.resolve().parent.parent == Path("/usr")


def needed_glibc(program: Path) -> Release | None:
    """Return the newest glibc symbol version that an interpreter and its modules name, without running it.

    The string tables are searched instead of parsed: `list` looks at hundreds of files.

    Returns:
        None if its files name none, as for another C library, or cannot be read.
    """
    real = program.resolve()
    prefix = real.parent.parent
    modules = prefix.glob("lib/python3*/lib-dynload/*.so")
    try:
        texts = [
            _dynamic_strings(file) for file in (real, *prefix.glob("lib/libpython3*.so*"), *modules) if file.is_file()
        ]
    except (OSError, ValueError, OverflowError):  # A damaged file can name an offset beyond all files.
        return None
    return max((Release(found.decode()) for text in texts for found in _GLIBC.findall(text)), default=None)


def _dynamic_strings(file: Path) -> bytes:
    """Return the string table that the dynamic linker reads; all of a file that has none, or is no 64-bit ELF file."""
    with file.open("rb") as stream:
        names = read_dynamic_names(stream)
        stream.seek(names.strings or 0)
        return stream.read(names.size if names.strings else -1)


def _roots(series: str, environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Directories of tools that install Pythons, and where those are below."""
    home = Path(environ.get("HOME") or "/root")
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local/share")
    yield Path(environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv/python"), f"cpython-{series}.*/bin"
    yield Path(environ.get("PYENV_ROOT") or home / ".pyenv"), f"versions/{series}.*/bin"
    yield Path(environ.get("ASDF_DATA_DIR") or home / ".asdf"), f"installs/python/{series}.*/bin"
    yield Path(environ.get("MISE_DATA_DIR") or data / "mise"), f"installs/python/{series}.*/bin"
    roots = [Path(environ[name]) for name in ("CONDA_PREFIX", "MAMBA_ROOT_PREFIX") if environ.get(name)]
    for root in (*roots, *(home / name for name in _CONDA), Path("/opt/conda")):
        yield root, "bin"
        yield root, "envs/*/bin"


def _path(environ: Mapping[str, str]) -> Iterator[Path]:
    """Directories of PATH without those of shims, which run another program or none."""
    for text in (*environ.get("PATH", "").split(":"), "/usr/local/bin", "/usr/bin"):
        if text.startswith("/") and Path(text).name != "shims":
            yield Path(text)


NOTE = ".interpreter.json"
"""Beside an archive: its version and glibc, which take about a second to read from it. Written by `keep_archive`."""


def archives_in(folder: Path, version: str = "*") -> tuple[Path, ...]:
    """Return the archives in the directory of a `FileStore`, sorted by name and hash.

    Args:
        folder: The directory.
        version: Pattern of their versions, such as `3.8.*`.
    """
    found = folder.glob(f"*/cpython-{version}.tar.gz")
    return tuple(sorted(found, key=lambda path: (path.name, path.parent.name)))


def packed_pythons(folder: Path) -> tuple[PackedPython, ...]:
    """Return the interpreters in the directory of a `FileStore` that run on their own, sorted by file name."""
    notes = [noted(path) for path in archives_in(folder)]
    return tuple(note for note in notes if note is not None)


def noted(archive: Path) -> PackedPython | None:
    """Return the description beside an archive; None if it is missing or cannot be read."""
    try:
        return structure.load(PackedPython, read_json(archive.parent / NOTE))
    except (OSError, ValueError):
        return None

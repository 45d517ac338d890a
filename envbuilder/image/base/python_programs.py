"""Where the Python programs of this machine are, by name: nothing is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from envbuilder.core.versions import Release

# Below the home directory, where no variable says otherwise.
_CONDA = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba")


def installed_program(version: Release, environ: Mapping[str, str]) -> str:
    """Return a program that has the name of a version, without running it; empty if there is none."""
    return str(next(iter(python_programs(version, environ)), ""))


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

"""CPython installations of this machine as sources of interpreter archives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.corrupt_file import Damaged
from envbuilder.core.errors import EnvbuilderError
from envbuilder.core.versions import Release
from envbuilder.image.base.interpreter import Interpreter, identify
from envbuilder.image.base.programs import Host
from envbuilder.image.base.python_files import TOP, select
from envbuilder.image.base.python_survey import Survey, library_dirs
from envbuilder.oci.tar.members import Kind

# Relative to the home directory, used when no variable names another place.
_CONDA = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledPython:
    """A Python program of this machine.

    Attributes:
        program: Its path.
        version: Full version; the requested one where the program does not run.
        problem: Why it cannot become an archive, worded to follow its path; empty if it can.
    """

    program: Path
    version: Release
    problem: str = ""


def installed_program(version: Release, environ: Mapping[str, str]) -> str:
    """Return a program that has the name of a version, without running it; empty if there is none."""
    return str(next(iter(_programs(version, environ)), ""))


def installed_pythons(version: Release, glibc: Release | None, host: Host) -> Iterator[InstalledPython]:
    """Return the installations of a version, each once, the newest first.

    Searched are the directories of pyenv, uv, asdf, mise and conda, then PATH and `/usr`.

    Args:
        version: Full (`3.8.18`) or not (`3.8`).
        glibc: C library of the intended base; None for any.
        host: Runs the programs. `HOME`, `PATH` and the variables of the tools named above are read.
    """
    found: dict[Path, tuple[Path, Interpreter]] = {}
    refused: list[InstalledPython] = []
    for program in _programs(version, host.environ):
        try:
            interpreter = identify(program, host)
        except EnvbuilderError as error:
            problem = error.message.removeprefix(f"{program} ")
            refused.append(InstalledPython(program=program, version=version, problem=problem))
            continue
        if interpreter.version.parts[: len(version.parts)] == version.parts:
            found.setdefault(interpreter.prefix, (program, interpreter))
    for program, interpreter in sorted(found.values(), key=lambda each: each[1].version, reverse=True):
        problem = _problem(interpreter, glibc)
        yield InstalledPython(program=program, version=interpreter.version, problem=problem)
    yield from refused


def _programs(version: Release, environ: Mapping[str, str]) -> tuple[Path, ...]:
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
    """Return the directories of tools that install Pythons, and the place of the installations below each."""
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
    """Return the directories of PATH without those of shims, which run another program or none."""
    for text in (*environ.get("PATH", "").split(":"), "/usr/local/bin", "/usr/bin"):
        if text.startswith("/") and Path(text).name != "shims":
            yield Path(text)


def _problem(interpreter: Interpreter, glibc: Release | None) -> str:
    try:
        members = select(interpreter, epoch=0).members
        survey = Survey()
        for member in members:
            survey.names.add(member.path)
            if member.kind is Kind.FILE:
                survey.meet(member.path, member.read())
    except (EnvbuilderError, Damaged, OSError, ValueError) as error:
        return f"cannot become an archive: {error}"
    if glibc is not None and survey.glibc > glibc:
        return f"needs glibc {survey.glibc}, the base has {glibc}"
    own = [name for name in survey.needs() if (interpreter.prefix / "lib" / name).exists()]
    if own:
        return f"cannot become an archive: it uses {', '.join(own)} of {interpreter.prefix}/lib"
    program = survey.libraries.get(f"{TOP}/bin/python{interpreter.series}")
    if program and library_dirs(program):
        return "cannot become an archive: it finds its libpython only where it is installed"
    return ""

"""CPython installations of this machine as sources of interpreter archives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.corrupt_file import Damaged
from envbuilder.core.errors import EnvbuilderError
from envbuilder.core.versions import Release
from envbuilder.image.base.available_pythons import python_programs
from envbuilder.image.base.interpreter import PackableInterpreter, identify
from envbuilder.image.base.programs import BaseHost
from envbuilder.image.base.python_files import TOP, select
from envbuilder.image.base.python_survey import InterpreterSurvey, library_dirs
from envbuilder.oci.tar.members import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonProgram:
    """A Python program of this machine.

    Attributes:
        version: Full version; the requested one where the program does not run.
        problem: Why it cannot become an archive, worded to follow its path; empty if it can.
    """

    program: Path
    version: Release
    problem: str = ""


def installed_pythons(version: Release, glibc: Release | None, host: BaseHost) -> Iterator[PythonProgram]:
    """Yield the installations of a version, each once, the newest first.

    Searched are the directories of pyenv, uv, asdf, mise and conda, then PATH and `/usr`.

    Args:
        version: Full (`3.8.18`) or not (`3.8`).
        glibc: C library of the intended base; None for any.
        host: Runs the programs. `HOME`, `PATH` and the variables of the tools named above are read.
    """
    found: dict[Path, tuple[Path, PackableInterpreter]] = {}
    refused: list[PythonProgram] = []
    for program in python_programs(version, host.environ):
        try:
            interpreter = identify(program, host)
        except EnvbuilderError as error:
            problem = error.message.removeprefix(f"{program} ")
            refused.append(PythonProgram(program=program, version=version, problem=problem))
            continue
        if interpreter.version.parts[: len(version.parts)] == version.parts:
            found.setdefault(interpreter.prefix, (program, interpreter))
    for program, interpreter in sorted(found.values(), key=lambda each: each[1].version, reverse=True):
        problem = _problem(interpreter, glibc)
        yield PythonProgram(program=program, version=interpreter.version, problem=problem)
    yield from refused


def _problem(interpreter: PackableInterpreter, glibc: Release | None) -> str:
    try:
        members = select(interpreter).members
        survey = InterpreterSurvey()
        for member in members:
            survey.names.add(member.path)
            if member.kind is Kind.FILE:
                survey.meet(member.path, member.read())
    except (EnvbuilderError, Damaged, OSError, ValueError) as error:
        return f"cannot be packed: {error}"
    if glibc is not None and survey.glibc > glibc:
        return f"needs glibc {survey.glibc}, the base has {glibc}"
    own = [name for name in survey.needs() if (interpreter.prefix / "lib" / name).exists()]
    if own:
        return f"cannot be packed: it uses {', '.join(own)} of {interpreter.prefix}/lib"
    program = survey.libraries.get(f"{TOP}/bin/python{interpreter.series}")
    if program and library_dirs(program):
        return "cannot be packed: its libpython is found only at its installed path"
    return ""

"""Installed Pythons are found where tools put them, and only those that can become an archive are without a problem."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from envbuilder.core.versions import Release
from envbuilder.image.base.installed_pythons import PythonProgram, installed_pythons
from envbuilder.image.base.programs import BaseHost, Ran, run_program
from tests.unit.image.base.test_python_archive import elf, installation

SERIES = Release("3.8")


def answer(program: Path) -> dict[str, str]:
    """What the Python at this place says about itself: its version stands in a file beside its `bin`."""
    prefix = program.parent.parent
    return {
        "implementation": "cpython", "system": "linux-64", "machine": "x86_64", "flags": "", "prefix": str(prefix),
        "version": (prefix / "VERSION").read_text("utf-8"),
    }  # fmt: skip


def run(command: Sequence[str], *, environ: Mapping[str, str], folder: Path) -> Ran:
    program = Path(command[0])
    if not (program.parent.parent / "VERSION").exists():
        return Ran(status=127, stdout="", tail=(f"pyenv: {program.name}: command not found",))
    return Ran(status=0, stdout=json.dumps(answer(program)), tail=())


def found(
    home: Path, version: Release = SERIES, glibc: str = "2.31", environ: Mapping[str, str] | None = None
) -> list[PythonProgram]:
    host = BaseHost(environ={"HOME": str(home), **(environ or {})}, run=run)
    # The machine that runs the tests may have Pythons of its own below /usr and /opt.
    return [each for each in installed_pythons(version, Release(glibc), host) if home in each.program.parents]


def install(prefix: Path, version: str = "3.8.18", program: bytes = b"") -> Path:
    installation(prefix, program or elf("libc.so.6", glibc="2.17"))
    (prefix / "VERSION").write_text(version, "utf-8")
    return prefix / "bin/python3.8"


@pytest.mark.parametrize(
    "place",
    [
        ".pyenv/versions/3.8.18",
        ".local/share/uv/python/cpython-3.8.18-linux-x86_64-gnu",
        ".asdf/installs/python/3.8.18",
        ".local/share/mise/installs/python/3.8.18",
        "miniconda3",
        "miniforge3/envs/old",
    ],
)
def test_it_is_found_where_a_tool_keeps_it(tmp_path: Path, place: str) -> None:
    program = install(tmp_path / place)
    assert found(tmp_path) == [PythonProgram(program=program, version=Release("3.8.18"))]
    assert not found(tmp_path, Release("3.7"))


@pytest.mark.parametrize(
    ("variable", "value", "place"),
    [
        ("PYENV_ROOT", "p", "p/versions/3.8.18"),
        ("UV_PYTHON_INSTALL_DIR", "u", "u/cpython-3.8.18-linux-x86_64-gnu"),
        ("XDG_DATA_HOME", "d", "d/uv/python/cpython-3.8.18-linux-x86_64-gnu"),
        ("ASDF_DATA_DIR", "a", "a/installs/python/3.8.18"),
        ("MISE_DATA_DIR", "m", "m/installs/python/3.8.18"),
        ("CONDA_PREFIX", "c", "c"),
        ("MAMBA_ROOT_PREFIX", "m", "m/envs/old"),
        ("PATH", "x/bin", "x"),
    ],
)
def test_it_is_found_where_a_variable_says(tmp_path: Path, variable: str, value: str, place: str) -> None:
    program = install(tmp_path / place)
    assert [each.program for each in found(tmp_path, environ={variable: str(tmp_path / value)})] == [program]


def test_the_newest_comes_first_and_each_installation_once(tmp_path: Path) -> None:
    old = install(tmp_path / ".pyenv/versions/3.8.9", "3.8.9")
    new = install(tmp_path / ".pyenv/versions/3.8.18")
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "python3.8").symlink_to(new)
    path = f"{linked}:{new.parent}:"
    assert [each.program for each in found(tmp_path, environ={"PATH": path})] == [new, old]
    assert [each.program for each in found(tmp_path, Release("3.8.9"), environ={"PATH": path})] == [old]


def test_a_shim_is_not_taken_for_a_python(tmp_path: Path) -> None:
    shims = tmp_path / ".pyenv/shims"
    shims.mkdir(parents=True)
    (shims / "python3.8").write_text("#!/bin/sh\n", "utf-8")
    assert not found(tmp_path, environ={"PATH": str(shims)})


def test_one_for_a_newer_c_library_says_so(tmp_path: Path) -> None:
    install(tmp_path / ".pyenv/versions/3.8.18", program=elf("libc.so.6", glibc="2.35"))
    [only] = found(tmp_path, glibc="2.23")
    assert only.problem == "needs glibc 2.35, the base has 2.23"
    assert not found(tmp_path, glibc="2.36")[0].problem


def test_one_that_uses_libraries_of_its_own_directory_cannot_become_an_archive(tmp_path: Path) -> None:
    prefix = tmp_path / "miniconda3"
    install(prefix, program=elf("libc.so.6", "libffi.so.7", search="$ORIGIN/../lib"))
    (prefix / "lib/libffi.so.7").write_bytes(elf("libc.so.6"))
    [only] = found(tmp_path)
    assert only.problem == f"cannot be packed: it uses libffi.so.7 of {prefix}/lib"


def test_one_that_is_bound_to_its_place_cannot_become_an_archive(tmp_path: Path) -> None:
    install(tmp_path / ".pyenv/versions/3.8.18", program=elf("libc.so.6", "libpython3.8.so.1.0", search="/x"))
    assert "its libpython is found only at its installed path" in found(tmp_path)[0].problem


def test_an_incomplete_one_and_one_that_does_not_start_come_last_with_their_reasons(tmp_path: Path) -> None:
    incomplete = install(tmp_path / ".pyenv/versions/3.8.19", "3.8.19")
    (tmp_path / ".pyenv/versions/3.8.19/lib/python3.8/os.py").unlink()
    broken = install(tmp_path / ".pyenv/versions/3.8.20", "3.8.20")
    (tmp_path / ".pyenv/versions/3.8.20/VERSION").unlink()
    first, last = found(tmp_path)
    assert (first.program, last.program) == (incomplete, broken)
    assert "os.py is missing" in first.problem
    assert last.problem == "is not a working Python 3: pyenv: python3.8: command not found"


def test_the_python_of_the_operating_system_is_found_and_refused() -> None:
    host = BaseHost(
        environ={**os.environ, "HOME": "/nonexistent", "PYENV_ROOT": "", "PATH": "/usr/bin"}, run=run_program
    )
    systems = [Path("/usr/bin") / f"python3.{minor}" for minor in range(6, 20)]
    for program in (program for program in systems if program.is_file()):
        version = Release(program.name.removeprefix("python"))
        assert "belongs to the operating system" in next(
            each.problem for each in installed_pythons(version, None, host) if each.program == program
        )

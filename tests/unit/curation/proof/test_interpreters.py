"""The interpreters of this host are asked what they are, and those that no wheel is for are passed over."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import pytest

from envbuilder.core.versions import Release
from envbuilder.curation.proof.interpreters import HostPython, HostPythons

GOOD = "CPython x86_64 8 2.36 3.8.18"


def program(path: Path, answer: str, *, status: int = 0) -> Path:
    """An interpreter that answers this, whatever it is asked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\necho "{answer}"\nexit {status}\n', encoding="utf-8")
    path.chmod(0o755)
    return path


def pythons(*folders: Path, search: tuple[Path, ...] = ()) -> HostPythons:
    return HostPythons(folders=folders, search=search, environ={"PATH": os.defpath})


def found(host: HostPythons, version: str = "3.8") -> Path | None:
    python = host.find(Release(version))
    return python.path if python else None


def test_an_interpreter_is_found_in_the_search_path_and_says_its_version(tmp_path: Path) -> None:
    path = program(tmp_path / "python3.8", GOOD)
    assert pythons(search=(tmp_path,)).find(Release("3.8")) == HostPython(
        path=path, version=Release("3.8.18"), glibc="2.36"
    )


@pytest.mark.parametrize("named", ["prefix", "folder of prefixes"])
def test_a_named_folder_goes_before_the_search_path(tmp_path: Path, named: str) -> None:
    path = program(tmp_path / "versions" / "3.8.18" / "bin" / "python3.8", GOOD)
    program(tmp_path / "search" / "python3.8", GOOD)
    folder = tmp_path / "versions" / "3.8.18" if named == "prefix" else tmp_path / "versions"
    assert found(pythons(folder, search=(tmp_path / "search",))) == path


def test_a_named_folder_without_the_version_falls_back_to_the_search_path(tmp_path: Path) -> None:
    program(tmp_path / "3.9.1" / "bin" / "python3.9", "CPython x86_64 8 2.36 3.9.1")
    path = program(tmp_path / "search" / "python3.8", GOOD)
    assert found(pythons(tmp_path, search=(tmp_path / "search",))) == path


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
    assert found(pythons(tmp_path / "nowhere", search=(tmp_path / "nowhere", tmp_path))) is None


def test_a_longer_version_is_not_the_shorter_one(tmp_path: Path) -> None:
    program(tmp_path / "python3.1", "CPython x86_64 8 2.36 3.10.13")
    assert found(pythons(search=(tmp_path,)), "3.1") is None


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("CPython x86_64 8 2.36 3.9.18", 0),
        ("CPython aarch64 8 2.36 3.8.18", 0),
        ("CPython x86_64 4 2.36 3.8.18", 0),
        ("PyPy x86_64 8 2.36 3.8.18", 0),
        ("CPython x86_64 8 - 3.8.18", 0),
        ("pyenv: python3.8: command not found", 127),
        ("", 0),
        (GOOD, 1),
    ],
)
def test_one_that_wheels_are_not_made_for_is_passed_over_for_the_next(tmp_path: Path, answer: str, status: int) -> None:
    program(tmp_path / "first" / "python3.8", answer, status=status)
    path = program(tmp_path / "second" / "python3.8", GOOD)
    assert found(pythons(search=(tmp_path / "first", tmp_path / "second"))) == path


def test_one_that_cannot_be_started_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "python3.8").write_bytes(b"\x7fELF")
    (tmp_path / "folder" / "python3.8").mkdir(parents=True)
    path = program(tmp_path / "second" / "python3.8", GOOD)
    assert found(pythons(search=(tmp_path / "first", tmp_path / "folder", tmp_path / "second"))) == path


def test_an_interpreter_is_asked_in_the_environment_that_is_given(tmp_path: Path) -> None:
    path = tmp_path / "python3.8"
    path.write_text(f'#!/bin/sh\ntest -z "$HOME" && echo "{GOOD}"\n', encoding="utf-8")
    path.chmod(0o755)
    assert found(pythons(search=(tmp_path,))) == path


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the wheels are for x86-64")
def test_the_interpreter_that_runs_these_tests_is_found_as_it_is() -> None:
    minor = f"{sys.version_info[0]}.{sys.version_info[1]}"
    here = HostPythons(folders=(Path(sys.base_prefix),), search=(), environ=dict(os.environ)).find(Release(minor))
    assert here is not None
    assert str(here.version) == platform.python_version()
    assert f"glibc {here.glibc}" == os.confstr("CS_GNU_LIBC_VERSION")

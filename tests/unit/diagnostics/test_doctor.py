"""Looking into a container and into a file; the host itself is looked at by the command line's tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from envbuilder.core.errors import InvalidInput, ToolFailed
from envbuilder.diagnostics.doctor import look_into_container, read_facts_file, with_host_environment
from envbuilder.diagnostics.facts.facts import NOT_ASKED, Seen
from envbuilder.oci.runtime.command import RunResult
from tests.fakes.site_packages import install_tensorflow
from tests.unit.diagnostics.checks.cases import ROOT
from tests.unit.diagnostics.host.machines import around

FACTS = (ROOT / "facts" / "tf-2.15-cpu.json").read_bytes()


def shell(path: str, *, timed_out: bool = False) -> Callable[[tuple[str, ...]], RunResult]:
    """Runs a command with a PATH, as in a container that has no more than that."""

    def run(command: tuple[str, ...]) -> RunResult:
        done = subprocess.run(command, capture_output=True, check=False, timeout=120, env={"PATH": path})
        return RunResult(
            status=done.returncode, stdout=done.stdout, stderr=done.stderr, timed_out=timed_out, copied=None
        )

    return run


def test_a_container_is_looked_at_with_the_python_that_it_has(tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to(sys.executable)
    looked = look_into_container("web", shell(f"{tmp_path}{os.pathsep}/usr/bin:/bin"))

    assert looked.facts.origin == "container web"
    assert isinstance(looked.facts.host, Seen)
    assert looked.facts.compute == NOT_ASKED, "nothing is computed"
    assert looked.host_environment is None
    assert json.loads(looked.document)["request"]["framework"] is False


def test_the_versions_in_a_container_are_those_of_its_python_or_of_the_one_named(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install_tensorflow(site, "2.4.4")
    for name in ("python", "other"):
        (tmp_path / name).write_text(
            f'#!/bin/sh\nPYTHONPATH={site if name == "other" else tmp_path} exec "{sys.executable}" "$@"\n',
            encoding="utf-8",
        )
        (tmp_path / name).chmod(0o755)
    run = shell(f"{tmp_path}{os.pathsep}/usr/bin:/bin")

    def frameworks(python: str) -> list[str]:
        software = look_into_container("web", run, python).facts.software
        assert isinstance(software, Seen)
        return [each.version for each in software.value.distributions if each.modules == ("tensorflow",)]

    assert frameworks(str(tmp_path / "other")) == ["2.4.4"]
    assert frameworks("") == []


def test_a_container_without_python_says_how_else_to_look(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="container web has no Python") as caught:
        look_into_container("web", shell(str(tmp_path)))
    assert "envbuilder doctor" in caught.value.hint


def test_an_interpreter_that_the_container_does_not_have_is_said() -> None:
    missing = RunResult(status=127, stdout=b"", stderr=b"", timed_out=False, copied=None)
    with pytest.raises(ToolFailed, match="container web cannot run /nowhere/python") as caught:
        look_into_container("web", lambda _: missing, "/nowhere/python")
    assert caught.value.hint.endswith("envbuilder doctor --container web")


def test_a_container_that_does_not_answer_is_said(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="in time"):
        look_into_container("web", shell(str(tmp_path), timed_out=True))


def test_a_file_has_the_surroundings_that_were_written_with_it() -> None:
    looked = read_facts_file(with_host_environment(FACTS, around()), "node7.json")
    assert (looked.facts.origin, looked.host_environment) == ("node7.json", around())
    assert read_facts_file(FACTS, "node7.json").host_environment is None


def test_a_file_that_is_none_is_our_error() -> None:
    with pytest.raises(InvalidInput):
        read_facts_file(b"[]", "x.json")

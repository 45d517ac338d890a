"""The templates of docs/ci have the structure of their systems, and what they call exists; their login step works."""

from __future__ import annotations

import re
import shlex
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from envbuilder.oci.registry.credentials import RegistryLogins
from tests.command_tree import commands, root_context
from tests.fakes.catalogs import ROOT

FOLDER = ROOT / "docs" / "ci"
GITHUB: dict[str, Any] = yaml.safe_load((FOLDER / "github-actions.yaml").read_text(encoding="utf-8"))
GITLAB: dict[str, Any] = yaml.safe_load((FOLDER / "gitlab-ci.yaml").read_text(encoding="utf-8"))
JOB = "build-image"
"""Not `image`, which is a keyword of GitLab: its schema refuses a job of that name."""
STEPS: list[dict[str, Any]] = GITHUB["jobs"]["image"]["steps"]
SCRIPTS = {
    "github": [step["run"] for step in STEPS if "run" in step],
    "gitlab": GITLAB[JOB]["script"],
}
VARIABLES = {
    "REGISTRY": "registry.example", "REGISTRY_USER": "me", "REGISTRY_PASSWORD": "p:w'$\"",
    "CI_REGISTRY": "registry.example", "CI_REGISTRY_USER": "me", "CI_REGISTRY_PASSWORD": "p:w'$\"",
}  # fmt: skip


def test_the_workflow_of_github_has_its_structure() -> None:
    # YAML 1.1 reads the key `on` as true.
    assert set(GITHUB) == {"name", True, "permissions", "jobs"}
    assert GITHUB["permissions"] == {"contents": "read"}
    assert set(GITHUB["jobs"]["image"]) == {"runs-on", "timeout-minutes", "env", "steps"}
    for step in STEPS:
        assert len({"run", "uses"} & set(step)) == 1
        assert set(step) <= {"run", "uses", "with", "env"}
        assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/x@v1"))


def test_the_job_of_gitlab_has_its_structure() -> None:
    assert set(GITLAB) == {JOB}
    assert set(GITLAB[JOB]) == {"image", "timeout", "rules", "variables", "script"}
    assert all(isinstance(line, str) for line in GITLAB[JOB]["script"])
    assert all(isinstance(value, str) for value in GITLAB[JOB]["variables"].values())


@pytest.mark.parametrize("system", SCRIPTS)
def test_the_commands_and_their_options_exist(system: str) -> None:
    lines = [line for script in SCRIPTS[system] for line in script.splitlines() if line.startswith("envbuilder ")]
    words = [[re.sub(r"\$\w+", "registry.example/x", word) for word in shlex.split(line)[1:]] for line in lines]
    assert [each[0] for each in words] == ["lock", "build"]
    for command, *arguments in words:
        commands()[command].make_context(command, arguments, parent=root_context())


@pytest.mark.parametrize("system", SCRIPTS)
def test_a_secret_is_never_part_of_a_command_line(system: str) -> None:
    """Such as `--password X`, which other users of the machine could read; `printf` is part of the shell."""
    lines = [line.strip() for script in SCRIPTS[system] for line in script.splitlines() if "PASSWORD" in line]
    assert lines
    assert all(line.startswith('login="$(printf ') for line in lines)
    if system == "github":
        assert not [script for script in SCRIPTS[system] if "${{" in script]


@pytest.mark.parametrize("system", SCRIPTS)
def test_the_login_that_they_write_is_read_and_private(system: str, tmp_path: Path) -> None:
    [script] = [each for each in SCRIPTS[system] if "PASSWORD" in each]
    file = tmp_path / "registry.json"
    environ = {**VARIABLES, "REGISTRY_AUTH_FILE": str(file), "PATH": "/usr/bin:/bin"}
    subprocess.run(["sh", "-euc", script], env=environ, check=True)
    login = RegistryLogins(files=[file], environ={}).of("registry.example", "team/tf")
    assert login is not None
    assert (login.user, login.password) == ("me", VARIABLES["REGISTRY_PASSWORD"])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

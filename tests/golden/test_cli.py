"""What the command line prints is what was reviewed: output, errors and exit status."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.golden.commands import FILES, commands
from tests.golden.products import cpu_lock, moved_lock, team_lock
from tests.unit.cli.running import CommandLine


@pytest.mark.parametrize("path", commands())
def test_a_command_prints_what_was_reviewed(
    path: str, envbuilder: CommandLine, golden: Callable[[str, str], None]
) -> None:
    locks = {"team.lock": team_lock(), "moved.lock": moved_lock(), "stale.lock": cpu_lock()}
    for name, text in (FILES | locks).items():
        envbuilder.write(name, text)
    # Neither the images of an engine of this host nor its mirror of interpreters may decide what is buildable.
    envbuilder.set("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    envbuilder.set("UV_PYTHON_INSTALL_MIRROR", "")
    arguments = commands()[path]
    ended = envbuilder(*arguments)
    if path.endswith(".json"):
        golden(path, ended.stdout)
        return
    said = "".join(f"! {line}\n" for line in ended.stderr.splitlines())
    status = f"[exit status {ended.status}]\n" if ended.status else ""
    golden(path, f"$ envbuilder {' '.join(arguments)}\n{ended.stdout}{said}{status}")

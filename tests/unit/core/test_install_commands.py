"""Hints that install something name what this package wants, in its own environment."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from envbuilder.core.install_commands import install_command


@pytest.mark.parametrize(("package", "wanted"), [("zstandard", "zstandard>=0.23"), ("uv", "uv"), ("other", "other")])
def test_a_command_installs_the_version_that_is_wanted_here(package: str, wanted: str) -> None:
    words = shlex.split(install_command(package))
    assert words[0] == sys.executable
    assert words[-1].startswith(wanted)
    assert "envbuilder" not in words[1:]


def test_the_command_is_one_that_can_be_typed() -> None:
    words = shlex.split(install_command("uv", again=True))
    assert "--force-reinstall" in words
    # With few columns, the help of pip ends with a traceback.
    ended = subprocess.run([*words[:3], "install", "--help"], env={}, capture_output=True, check=False)
    assert ended.returncode == 0

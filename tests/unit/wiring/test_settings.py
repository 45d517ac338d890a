"""Where the cache is, also for accounts that nobody knows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from envbuilder.wiring.settings import NOWHERE, settings
from tests.unit.cli.running import CommandLine

UNKNOWN = """
import os, sys
from envbuilder.cli.main import entry
import envbuilder.cli.cache, envbuilder.cli.list, envbuilder.wiring.inventory, envbuilder.wiring.settings
import pwd
pwd.getpwuid = lambda uid: {}[uid]  # As for an account that is in no list: tests need not be root.
sys.argv = ["envbuilder", *sys.argv[1:]]
entry()
"""


def run_unknown(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command as an account that is in no list of accounts, without HOME."""
    given = {name: value for name, value in os.environ.items() if name in {"PATH", "PYTHONPATH", "TMPDIR"}}
    return subprocess.run(
        [sys.executable, "-c", UNKNOWN, *arguments], env=given | environ, capture_output=True, text=True, check=False
    )


def test_an_unknown_account_uses_the_cache_that_is_named(tmp_path: Path) -> None:
    done = run_unknown("cache", "list", ENVBUILDER_CACHE=str(tmp_path / "cache"))
    assert (done.returncode, done.stderr) == (0, "")
    assert str(tmp_path / "cache") in done.stdout


def test_an_unknown_account_without_a_cache_is_told_to_name_one() -> None:
    done = run_unknown("cache", "list")
    assert done.returncode == 2
    assert "no home directory" in done.stderr
    assert "export ENVBUILDER_CACHE=DIR" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_account_may_list_environments() -> None:
    done = run_unknown("list")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert "tf-2.15-cpu" in done.stdout


@pytest.mark.parametrize("value", ["relative", "./x", "~/x"])
def test_a_relative_cache_home_is_ignored(envbuilder: CommandLine, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.delenv("ENVBUILDER_CACHE")
    envbuilder.set("XDG_CACHE_HOME", value)
    assert settings().cache_path == envbuilder.folder / "home" / ".cache" / "envbuilder"
    envbuilder.set("XDG_CACHE_HOME", "/var/cache/me")
    assert settings().cache_path == Path("/var/cache/me/envbuilder")


def test_a_home_that_is_no_absolute_path_is_that_of_the_account(envbuilder: CommandLine) -> None:
    envbuilder.set("HOME", "")
    assert settings().home.is_absolute()
    assert settings().home != envbuilder.folder
    assert NOWHERE.is_absolute()


def test_a_cache_that_others_can_write_to_is_refused_by_each_command(envbuilder: CommandLine) -> None:
    cache = envbuilder.folder / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    for arguments in (("cache", "list"), ("cache", "prune"), ("build", "tf-2.15-cpu", "--engine", "assemble")):
        ended = envbuilder(*arguments)
        assert ended.status == 2
        assert f"chmod -R go-w {cache}" in ended.stderr
    assert envbuilder("list").status == 0
    assert list(cache.iterdir()) == []

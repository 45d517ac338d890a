"""Locks between processes, and file systems that have none."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from envbuilder.core.file_locks import hold, hold_now


def test_a_lock_is_held_until_its_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("a") as one, path.open("a") as two:
        hold(one.fileno(), path)
        assert not hold_now(two.fileno(), path)
        one.close()
        assert hold_now(two.fileno(), path)


def test_a_shared_lock_lets_others_share(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("a") as one, path.open("a") as two, path.open("a") as three:
        hold(one.fileno(), path, shared=True)
        hold(two.fileno(), path, shared=True)
        assert not hold_now(three.fileno(), path)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_cache_without_locks_is_an_error_with_the_setting_to_change(tmp_path: Path, number: int) -> None:
    code = (
        "import fcntl, os, sys\n"
        "def flock(handle, kind):\n"
        f"    raise OSError({number}, os.strerror({number}))\n"
        "fcntl.flock = flock\n"
        "from envbuilder.cli.main import entry\n"
        "sys.argv = ['envbuilder', 'cache', 'prune']\n"
        "sys.exit(entry())\n"
    )
    environ = {"PATH": "/usr/bin:/bin", "ENVBUILDER_CACHE": str(tmp_path / "cache"), "LC_ALL": "C.UTF-8"}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 6
    assert "has no file locks" in done.stderr
    assert "ENVBUILDER_CACHE=/local" in done.stderr
    assert "Traceback" not in done.stderr

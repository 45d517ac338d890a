"""The command of a Dockerfile that takes the rights of another account from programs, run on a directory."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.catalog.environments import BaseKind, PythonProvider
from envbuilder.image.dockerfile.build_context import render
from envbuilder.image.plan.layers import plan
from envbuilder.lock.lock import Lock
from tests.fakes.catalogs import TEMPLATES, good_lock

MODES = {"usr/bin/su": 0o4755, "bin/mount": 0o4755, "usr/bin/wall": 0o2755, "usr/bin/ls": 0o755, "var/mail": 0o2775}
BARE = replace(good_lock(), os_packages=(), allow=())
ON_IMAGE = replace(
    BARE, base=replace(BARE.base, kind=BaseKind.IMAGE, image="nvidia/cuda:11.0.3-runtime-ubuntu20.04", packages=())
)
_COMMAND = re.compile(r"find / -xdev[^;\n]*\{\} \+")


def commands(lock: Lock, file: str) -> list[str]:
    made = render(plan(lock, "sha256:" + "ab" * 32), "lock\n", TEMPLATES)
    [text] = [each.text for each in made.texts if each.path == file]
    return _COMMAND.findall(text)


def run(command: str, root: Path) -> dict[str, int]:
    """Run a command of a Dockerfile with another root, and return the modes that it leaves."""
    for path, mode in MODES.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if path == "var/mail":
            place.mkdir()
        else:
            place.touch()
        place.chmod(mode)
    elsewhere = re.sub(r"-path /", f"-path {root}/", command.replace("find / ", f"find {root} "))
    subprocess.run(["sh", "-euc", elsewhere], check=True)
    return {path: (root / path).stat().st_mode & 0o7777 for path in MODES}


@pytest.mark.parametrize("file", ["Dockerfile", "Dockerfile.classic"])
def test_programs_of_a_registry_base_lose_the_rights_of_another_account(file: str, tmp_path: Path) -> None:
    [command] = commands(ON_IMAGE, file)
    assert run(command, tmp_path) == {
        "usr/bin/su": 0o755, "bin/mount": 0o755, "usr/bin/wall": 0o755, "usr/bin/ls": 0o755, "var/mail": 0o2775,
    }  # fmt: skip


def test_programs_that_the_lock_allows_keep_them_by_both_of_their_names(tmp_path: Path) -> None:
    allowing = replace(ON_IMAGE, allow=("/opt/venv/bin/env", "/usr/bin/mount", "/usr/bin/su"))
    [command] = commands(allowing, "Dockerfile")
    kept = run(command, tmp_path)
    assert {path for path, mode in kept.items() if mode & 0o6000} == {"usr/bin/su", "bin/mount", "var/mail"}


def test_a_debian_base_is_clean_before_the_build_starts() -> None:
    assert BARE.base.kind is BaseKind.DEBIAN
    assert BARE.python.provider is PythonProvider.ARCHIVE
    assert commands(BARE, "Dockerfile") == commands(BARE, "Dockerfile.classic") == []


def test_packages_that_apt_installs_are_cleared_in_the_same_step() -> None:
    lock = replace(ON_IMAGE, os_packages=good_lock().os_packages)
    assert len(commands(lock, "Dockerfile")) == 1

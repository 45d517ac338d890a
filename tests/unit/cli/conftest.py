"""A Debian archive on loopback, and a lock of its packages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import dump
from tests.fakes.catalogs import good_lock
from tests.unit.cli.debs import lock_of_debs, served
from tests.unit.cli.running import CommandLine


@pytest.fixture
def debian(tmp_path: Path) -> Iterator[str]:
    """The address of a Debian archive, which is in `archive`."""
    with served(tmp_path / "archive") as address:
        yield address


@pytest.fixture
def lock(envbuilder: CommandLine) -> Lock:
    """A lock, in `x.lock`, of OS packages only."""
    made = lock_of_debs(good_lock().base)
    envbuilder.write("x.lock", dump(made))
    return made

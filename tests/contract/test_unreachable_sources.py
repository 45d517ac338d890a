"""A source that refuses connections, asked by the real client with its real waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.hostile_world import NOBODY, hostile_world
from tests.unit.cli.running import CommandLine
from tests.unit.cli.test_secrets import lock_from_debian


def test_an_unreachable_debian_mirror_makes_no_secret_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "team"
    folder.mkdir()
    with hostile_world(CommandLine(folder, monkeypatch, capsys)) as world:
        world.index.password = world.plant("debian")
        assert lock_from_debian(world, NOBODY) in {5, 8}
        assert world.leaks() == []

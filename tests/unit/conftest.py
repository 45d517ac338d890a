"""A command line for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.running import CommandLine


@pytest.fixture
def envbuilder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    folder = tmp_path / "team"
    folder.mkdir()
    return CommandLine(folder, monkeypatch, capsys)

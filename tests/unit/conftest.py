"""A command line, a store and a registry for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuilder.oci.store import Store
from tests.unit.cli.running import CommandLine
from tests.unit.oci.registry.faulty import Registry, serving


@pytest.fixture
def envbuilder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    folder = tmp_path / "team"
    folder.mkdir()
    return CommandLine(folder, monkeypatch, capsys)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(folder=tmp_path / "store")


@pytest.fixture
def registry() -> Iterator[Registry]:
    with serving() as made:
        yield made

"""A store for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.oci.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(folder=tmp_path / "store")

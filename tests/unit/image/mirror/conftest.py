"""A faulty registry as mirror, and a client whose waits take no time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuilder.core.http.retries import Pacing
from envbuilder.image.mirror.file_mirror import RegistryMirror
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.store import Store
from tests.unit.oci.registry.faulty import Registry

NAME = "team/tf"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[RegistryClient]:
    with RegistryClient({}, [tmp_path / "config.json"], Pacing(pause=lambda _: None)) as made:
        yield made


@pytest.fixture
def mirror(registry: Registry, store: Store, client: RegistryClient) -> RegistryMirror:
    return RegistryMirror(repository=f"{registry.host}/{NAME}", client=lambda: client, store=store)

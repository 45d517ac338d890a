"""A faulty registry, a client whose waits take no time, and images to push."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from envbuilder.core.http.retries import Pacing
from envbuilder.core.references import ImageRef
from envbuilder.oci.documents import document
from envbuilder.oci.images import (
    CONFIG_TYPE,
    EMPTY_TYPE,
    MANIFEST_TYPE,
    AssembledImage,
    Descriptor,
    ImageLayerPin,
    LayerFormat,
    SmallBlob,
)
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.store import Store
from tests.unit.oci.registry.faulty import Registry

LAYER_TYPE = LayerFormat.GZIP_SPLICED.media_type


@dataclass(slots=True)
class Time:
    """A clock that only waiting moves."""

    now: float = 0.0
    waits: list[float] = field(default_factory=list)

    def pause(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    @property
    def pacing(self) -> Pacing:
        return Pacing(pause=self.pause, jitter=lambda: 1.0, clock=lambda: self.now)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def client(tmp_path: Path, time: Time) -> Iterator[RegistryClient]:
    with RegistryClient({}, [tmp_path / "docker" / "config.json"], time.pacing) as made:
        yield made


def reference(registry: Registry, name: str = "team/tf:1") -> ImageRef:
    return ImageRef.parse(f"{registry.host}/{name}")


def plain(descriptor: Descriptor) -> dict[str, object]:
    return {"mediaType": descriptor.media_type, "digest": descriptor.digest, "size": descriptor.size}


def image_of(store: Store, *layers: bytes, attached: tuple[bytes, ...] = ()) -> AssembledImage:
    """An image with these layers, put into a store, and documents that refer to it."""
    blobs = [Descriptor(media_type=LAYER_TYPE, digest=store.put(layer), size=len(layer)) for layer in layers]
    config = document(CONFIG_TYPE, json.dumps({"os": "linux", "layers": len(layers)}).encode())
    value = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": plain(config.descriptor),
        "layers": [plain(blob) for blob in blobs],
    }
    manifest = document(MANIFEST_TYPE, json.dumps(value).encode())
    pins = (
        ImageLayerPin(id=f"layer-{number}", key=blob.digest, diff_id=blob.digest, blob=blob)
        for number, blob in enumerate(blobs)
    )
    referring = tuple(_referring(manifest, content) for content in attached)
    return AssembledImage(layers=tuple(pins), config=config, manifest=manifest, attached=referring)


def _referring(subject: SmallBlob, content: bytes) -> tuple[SmallBlob, SmallBlob]:
    blob = document("application/spdx+json", content)
    value = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "artifactType": "application/spdx+json",
        "config": plain(document(EMPTY_TYPE, b"{}").descriptor),
        "layers": [plain(blob.descriptor)],
        "subject": plain(subject.descriptor),
        "annotations": {"org.example.kind": "sbom"},
    }
    return document(MANIFEST_TYPE, json.dumps(value).encode()), blob

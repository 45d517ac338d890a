"""Images as documents: layers with their digests, configuration and manifest, known before anything is built."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from envbuilder.core.field_types import Digest, FileSize, LayerId, MediaType
from envbuilder.core.structure import At

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
EMPTY_TYPE = "application/vnd.oci.empty.v1+json"


class LayerFormat(StrEnum):
    """How the tar of a layer is packed.

    `gzip-spliced`: the deflate streams of wheels as members of one gzip file, nothing compressed again. `tar`: not at
    all. `zstd`: by libzstd, whose version decides the bytes.
    """

    GZIP_SPLICED = "gzip-spliced"
    TAR = "tar"
    ZSTD = "zstd"

    @property
    def media_type(self) -> str:
        """Media type of such a layer in a manifest."""
        suffix = {LayerFormat.GZIP_SPLICED: "+gzip", LayerFormat.TAR: "", LayerFormat.ZSTD: "+zstd"}[self]
        return f"application/vnd.oci.image.layer.v1.tar{suffix}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """A blob as manifests name it.

    Attributes:
        digest: `sha256:…` of its bytes.
        size: Bytes.
        media_type: What it is.
    """

    digest: Digest
    size: FileSize
    media_type: Annotated[MediaType, At("type")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLayerPin:
    """One layer of an assembled image.

    Attributes:
        id: What it holds, such as `cuda.nvidia-cudnn-cu11`; unique in an image.
        key: `sha256:…` of everything that decides its content.
        diff_id: `sha256:…` of its uncompressed tar.
        blob: The packed tar.
    """

    id: LayerId
    key: Digest
    diff_id: Digest
    blob: Annotated[Descriptor, At()]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePin:
    """What a lock will become, bit by bit.

    Attributes:
        format: How its layers are packed.
        manifest: Digest of the manifest: the identity in a registry.
        config: Digest of the configuration: the image id of engines with the classic store.
        layers: Lowest first; all of them, those of the base too.
    """

    format: LayerFormat
    manifest: Digest
    config: Digest
    layers: tuple[ImageLayerPin, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A small blob that is held in memory.

    Attributes:
        descriptor: Its name.
        content: Its bytes.
    """

    descriptor: Descriptor
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledImage:
    """An image whose layers are in a store.

    Attributes:
        layers: Lowest first.
        config: The configuration.
        manifest: The manifest, which names both.
        attached: Further documents about the image (bill of materials, provenance), each as the manifest that refers
            to it and its content.
    """

    layers: tuple[ImageLayerPin, ...]
    config: Document
    manifest: Document
    attached: tuple[tuple[Document, Document], ...] = ()

    @property
    def blobs(self) -> tuple[Descriptor, ...]:
        """All that a destination needs before the manifest, each once: layers, then the configuration."""
        layers = {layer.blob.digest: layer.blob for layer in self.layers}
        return (*layers.values(), self.config.descriptor)

"""Images as documents: layers with their digests, configuration and manifest."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from envbuilder.core.field_rules import At
from envbuilder.core.field_types import Digest, FileSize, LayerId, MediaType, OptionalDigest

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
EMPTY_TYPE = "application/vnd.oci.empty.v1+json"


class LayerFormat(StrEnum):
    """Compression of the tar of a layer.

    `gzip-spliced`: the deflate streams of wheels as members of one gzip file, without recompression. `tar`: not
    compressed. `zstd`: by libzstd, whose version decides the bytes. `estargz`: gzip whose files can be fetched one by
    one; its tar has two more files.
    """

    GZIP_SPLICED = "gzip-spliced"
    TAR = "tar"
    ZSTD = "zstd"
    ESTARGZ = "estargz"

    @property
    def media_type(self) -> str:
        """Media type of such a layer in a manifest."""
        suffix = {LayerFormat.TAR: "", LayerFormat.ZSTD: "+zstd"}.get(self, "+gzip")
        return f"application/vnd.oci.image.layer.v1.tar{suffix}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """Reference to a blob, as in a manifest.

    Attributes:
        digest: `sha256:…` of its bytes.
        size: Bytes.
    """

    digest: Digest
    size: FileSize
    media_type: Annotated[MediaType, At("type")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLayerPin:
    """One layer of an assembled image.

    Attributes:
        id: Name of its content, such as `cuda.nvidia-cudnn-cu11`; unique in an image.
        key: `sha256:…` of everything that decides its content.
        diff_id: `sha256:…` of its uncompressed tar.
        blob: The compressed tar.
        contents: `sha256:…` of its table of contents; empty if its format has none.
    """

    id: LayerId
    key: Digest
    diff_id: Digest
    blob: Annotated[Descriptor, At()]
    contents: OptionalDigest = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePin:
    """Digests of the image of a lock.

    Attributes:
        format: Compression of its layers.
        manifest: Digest of the manifest: the identity in a registry.
        config: Digest of the configuration: the image id of engines with the classic store.
        layers: Lowest first, including those of the base.
    """

    format: LayerFormat
    manifest: Digest
    config: Digest
    layers: tuple[ImageLayerPin, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallBlob:
    """A small blob that is held in memory."""

    descriptor: Descriptor
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledImage:
    """An image whose layers are in a store.

    Attributes:
        layers: Lowest first.
        manifest: The manifest, which names both.
        attached: Further documents about the image (bill of materials, provenance), each as the manifest that refers
            to it and its content.
    """

    layers: tuple[ImageLayerPin, ...]
    config: SmallBlob
    manifest: SmallBlob
    attached: tuple[tuple[SmallBlob, SmallBlob], ...] = ()

    @property
    def blobs(self) -> tuple[Descriptor, ...]:
        """Blobs that a destination needs before the manifest, without duplicates: layers, then the configuration."""
        layers = {layer.blob.digest: layer.blob for layer in self.layers}
        return (*layers.values(), self.config.descriptor)

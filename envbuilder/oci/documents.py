"""JSON documents of images: canonical encoding and checked decoding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from envbuilder.core.canonical_json import canonical_json
from envbuilder.core.digests import digest_of, is_digest
from envbuilder.core.json_fields import Record, at, parsed, text
from envbuilder.oci.images import EMPTY_TYPE, MANIFEST_TYPE, Descriptor, ImageLayerPin, SmallBlob


def document(media_type: str, content: bytes) -> SmallBlob:
    """Return bytes with their descriptor."""
    descriptor = Descriptor(media_type=media_type, digest=digest_of(content), size=len(content))
    return SmallBlob(descriptor=descriptor, content=content)


EMPTY = document(EMPTY_TYPE, b"{}")
"""Configuration of manifests that have none. Source:
https://github.com/opencontainers/image-spec/blob/v1.1.0/manifest.md#guidance-for-an-empty-descriptor"""


def json_document(media_type: str, value: object) -> SmallBlob:
    """Return a value as a canonical JSON document."""
    return document(media_type, canonical_json(value))


def artifact(
    kind: str,
    layers: Sequence[Record],
    *,
    config: SmallBlob = EMPTY,
    subject: Descriptor | None = None,
    annotations: Mapping[str, str] | None = None,
) -> SmallBlob:
    """Return the manifest of an artifact of some type; `subject` is the manifest of the image that it refers to.

    Source: OCI image specification 1.1, "Guidelines for artifact usage" and the field `subject`,
    https://github.com/opencontainers/image-spec/blob/v1.1.0/manifest.md
    """
    manifest: dict[str, object] = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "artifactType": kind,
        "config": entry(config.descriptor),
        "layers": list(layers),
    }
    manifest |= {"subject": entry(subject)} if subject else {}
    return json_document(MANIFEST_TYPE, manifest | ({"annotations": dict(annotations)} if annotations else {}))


def timestamp(epoch: int) -> str:
    """Return a time in seconds since 1970 as documents contain it."""
    return datetime.fromtimestamp(epoch, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def entry(descriptor: Descriptor) -> dict[str, object]:
    """Return a descriptor in the form that documents contain."""
    return {"mediaType": descriptor.media_type, "digest": descriptor.digest, "size": descriptor.size}


def layer_entry(layer: ImageLayerPin) -> dict[str, object]:
    """Return the entry of a manifest for a layer: its descriptor, and the digest of its table of contents.

    Source: https://github.com/containerd/stargz-snapshotter/blob/v0.18.0/docs/estargz.md#content-verification-in-estargz
    """
    found = {"containerd.io/snapshot/stargz/toc.digest": layer.contents} if layer.contents else {}
    return entry(layer.blob) | ({"annotations": found} if found else {})


def attached_entry(manifest: SmallBlob) -> dict[str, object]:
    """Return the entry of an index for a manifest that refers to an image: descriptor and type of the content.

    Source: https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md#listing-referrers
    """
    content = parsed(manifest.content)
    artifact = text(content, "artifactType") or text(content, "config", "mediaType")
    return entry(manifest.descriptor) | ({"artifactType": artifact} if artifact else {})


def attached_blobs(manifest: SmallBlob, content: SmallBlob) -> tuple[SmallBlob, ...]:
    """Return the blobs of a manifest that refers to an image."""
    config = text(parsed(manifest.content), "config", "digest")
    return (content, EMPTY) if config == EMPTY.descriptor.digest != content.descriptor.digest else (content,)


def descriptor(value: object) -> Descriptor:
    """Read a descriptor.

    Raises:
        ValueError: It has no sha256 digest or no size.
    """
    digest, size = text(value, "digest"), at(value, "size")
    if not is_digest(digest) or type(size) is not int or size < 0:
        raise ValueError("refers to content without a sha256 digest or a size")
    return Descriptor(media_type=text(value, "mediaType"), digest=digest, size=size)

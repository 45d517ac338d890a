"""The JSON documents of images: written in one way, and read without trusting their shape."""

from __future__ import annotations

from envbuilder.core.canonical_json import canonical_json
from envbuilder.core.digests import digest_of, is_digest
from envbuilder.core.json_fields import at, parsed, text
from envbuilder.oci.images import EMPTY_TYPE, Descriptor, Document


def document(media_type: str, content: bytes) -> Document:
    """Return bytes with their descriptor."""
    descriptor = Descriptor(media_type=media_type, digest=digest_of(content), size=len(content))
    return Document(descriptor=descriptor, content=content)


EMPTY = document(EMPTY_TYPE, b"{}")
"""What manifests without a configuration name instead of one. Source: OCI image specification 1.1, "Guidance for an
Empty Descriptor"."""


def json_document(media_type: str, value: object) -> Document:
    """Return a value as a canonical JSON document."""
    return document(media_type, canonical_json(value))


def entry(descriptor: Descriptor) -> dict[str, object]:
    """Return a descriptor as documents hold it."""
    return {"mediaType": descriptor.media_type, "digest": descriptor.digest, "size": descriptor.size}


def attached_entry(manifest: Document) -> dict[str, object]:
    """Return what an index says about a manifest that refers to an image: its descriptor and the type of its content.

    Source: OCI distribution specification 1.1, "Listing Referrers".
    """
    content = parsed(manifest.content)
    artifact = text(content, "artifactType") or text(content, "config", "mediaType")
    return entry(manifest.descriptor) | ({"artifactType": artifact} if artifact else {})


def descriptor(value: object) -> Descriptor:
    """Read a descriptor.

    Raises:
        ValueError: It has no sha256 digest or no size.
    """
    digest, size = text(value, "digest"), at(value, "size")
    if not is_digest(digest) or type(size) is not int or size < 0:
        raise ValueError("names something without a sha256 digest or a size")
    return Descriptor(media_type=text(value, "mediaType"), digest=digest, size=size)

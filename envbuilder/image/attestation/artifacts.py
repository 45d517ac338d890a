"""Documents about an image as artefacts that refer to it.

Source: OCI image specification 1.1, "Guidelines for artifact usage" and the field `subject`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from envbuilder.oci.images import EMPTY_TYPE, MANIFEST_TYPE, Descriptor, Document

EMPTY = b"{}"
"""Content of a configuration that says nothing."""


def attached(
    documents: Iterable[tuple[str, str, bytes]], subject: Descriptor, created: str
) -> tuple[tuple[Document, Document], ...]:
    """Each document with the manifest that attaches it to an image.

    Args:
        documents: Media type, file name and content.
        subject: Manifest of the image.
        created: The image's own creation time.
    """
    return tuple(_attached(media_type, name, content, subject, created) for media_type, name, content in documents)


def _attached(
    media_type: str, name: str, content: bytes, subject: Descriptor, created: str
) -> tuple[Document, Document]:
    held = _document(media_type, content)
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "artifactType": media_type,
        "config": _plain(_document(EMPTY_TYPE, EMPTY).descriptor),
        "layers": [_plain(held.descriptor) | {"annotations": {"org.opencontainers.image.title": name}}],
        "subject": _plain(subject),
        "annotations": {"org.opencontainers.image.created": created},
    }
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode()
    return _document(MANIFEST_TYPE, text), held


def _document(media_type: str, content: bytes) -> Document:
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    return Document(descriptor=Descriptor(media_type=media_type, digest=digest, size=len(content)), content=content)


def _plain(descriptor: Descriptor) -> dict[str, object]:
    return {"mediaType": descriptor.media_type, "digest": descriptor.digest, "size": descriptor.size}

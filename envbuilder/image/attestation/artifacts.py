"""Documents about an image as OCI artifacts that refer to it.

Source: OCI image specification 1.1, "Guidelines for artifact usage" and the field `subject`,
https://github.com/opencontainers/image-spec/blob/v1.1.0/manifest.md
"""

from __future__ import annotations

from collections.abc import Iterable

from envbuilder.oci.documents import EMPTY, document, entry, json_document
from envbuilder.oci.images import MANIFEST_TYPE, Descriptor, SmallBlob


def attached(
    documents: Iterable[tuple[str, str, bytes]], subject: Descriptor, created: str
) -> tuple[tuple[SmallBlob, SmallBlob], ...]:
    """Return each document with the manifest that attaches it to an image.

    Args:
        documents: Media type, file name and content.
        subject: Manifest of the image.
        created: The image's own creation time.
    """
    return tuple(_attached(media_type, name, content, subject, created) for media_type, name, content in documents)


def _attached(
    media_type: str, name: str, content: bytes, subject: Descriptor, created: str
) -> tuple[SmallBlob, SmallBlob]:
    held = document(media_type, content)
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "artifactType": media_type,
        "config": entry(EMPTY.descriptor),
        "layers": [entry(held.descriptor) | {"annotations": {"org.opencontainers.image.title": name}}],
        "subject": entry(subject),
        "annotations": {"org.opencontainers.image.created": created},
    }
    return json_document(MANIFEST_TYPE, manifest), held

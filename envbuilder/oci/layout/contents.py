"""Contents of an image at a destination: blobs under their digests, and the documents that list them.

Source: https://github.com/opencontainers/image-spec/blob/v1.1.0/image-layout.md; `manifest.json` as `docker save`
writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from envbuilder.core.canonical_json import canonical_json
from envbuilder.core.errors import UsageError, VerificationFailed
from envbuilder.core.json_fields import Record
from envbuilder.core.references import ImageRef
from envbuilder.oci.documents import attached_blobs, attached_entry, entry
from envbuilder.oci.images import INDEX_TYPE, AssembledImage, Descriptor, SmallBlob
from envbuilder.oci.store import Store

LAYOUT_FILE = "oci-layout"
INDEX_FILE = "index.json"
DOCKER_FILE = "manifest.json"
LAYOUT = b'{"imageLayoutVersion":"1.0.0"}'
NAME = "org.opencontainers.image.ref.name"


def verified_layers(image: AssembledImage, store: Store) -> tuple[tuple[Descriptor, Path], ...]:
    """Return descriptor and file of each layer of an image after verifying it; lowest first, without duplicates.

    Raises:
        VerificationFailed: One is damaged or missing from the store.
    """
    once = {layer.blob.digest: layer.blob for layer in image.layers}
    return tuple((blob, verified(blob, store)) for blob in once.values())


def verified(blob: Descriptor, store: Store) -> Path:
    """Return the path of one verified layer; errors as in `verified_layers`."""
    try:
        return store.verified(blob.digest)
    except FileNotFoundError as error:
        raise VerificationFailed(
            f"the layer {blob.digest} is not in the cache directory", hint="build the image again"
        ) from error


def delivered(image: AssembledImage, *, attestations: bool) -> AssembledImage:
    """Return an image as a destination gets it: with its attached documents, or without them."""
    return image if attestations else replace(image, attached=())


def small_documents(image: AssembledImage) -> tuple[SmallBlob, ...]:
    """Return all blobs held in memory, without duplicates: configuration, attached documents, manifests last."""
    attached = [document for pair in image.attached for document in attached_blobs(*pair)]
    ordered = (image.config, *attached, image.manifest, *(manifest for manifest, _ in image.attached))
    return tuple({document.descriptor.digest: document for document in ordered}.values())


def blob_name(digest: str) -> str:
    """Return the path of a blob in a layout."""
    return f"blobs/{digest.replace(':', '/')}"


def index_entries(image: AssembledImage, names: Sequence[str]) -> tuple[Record, ...]:
    """Return the entries of an index for an image: one under the first name, then its attached documents.

    Apptainer, skopeo and podman refuse a layout with several entries unless one is selected, also if all of them have
    the same digest. umoci refuses an index in the index. Measured on 2026-11-23 with Apptainer 1.4.5, skopeo 1.9.3,
    podman 4.3.1 and umoci 0.4.7.
    """
    named = {"annotations": {NAME: names[0]}} if names else {}
    attached: list[Record] = [attached_entry(manifest) for manifest, _ in image.attached]
    return (entry(image.manifest.descriptor) | named, *attached)


def index(entries: Iterable[Record]) -> bytes:
    """Return an index as bytes."""
    return canonical_json({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": list(entries)})


def docker_manifest(image: AssembledImage, names: Sequence[str]) -> bytes:
    """Return `manifest.json` of `docker save`; leave out names that engines do not accept."""
    tags = sorted({tag for name in names if (tag := _tag(name))})
    layers = [blob_name(layer.blob.digest) for layer in image.layers]
    config = blob_name(image.config.descriptor.digest)
    return canonical_json([{"Config": config, "RepoTags": tags or None, "Layers": layers}])


def _tag(name: str) -> str:
    try:
        reference = ImageRef.parse(name)
    except ValueError:
        return ""
    return "" if reference.digest else str(reference)


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names without duplicates.

    Raises:
        UsageError: One is empty, or has characters that the specification does not allow.
    """
    for name in names:
        if not name or not all(part.isascii() and (part.isalnum() or part in "-._:@/+") for part in name):
            raise UsageError(f"{name!r} cannot be the name of an image", hint="use letters, digits and -._:@/+")
    return tuple(dict.fromkeys(names))

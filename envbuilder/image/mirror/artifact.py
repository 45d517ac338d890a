"""The files of a lock as one OCI artifact, which keeps their blobs from being removed and refers to the image."""

from __future__ import annotations

from envbuilder.image.file_directory import named_files, path_of_lock
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest, dump
from envbuilder.oci.documents import EMPTY, artifact, entry, timestamp
from envbuilder.oci.images import AssembledImage, Descriptor, ImageLayerPin
from envbuilder.oci.store import Store

ARTIFACT_TYPE = "application/vnd.envbuilder.inputs.v1"
_FILE_TYPE = "application/octet-stream"
_SHOWN = 12


def inputs_artifact(lock: Lock, store: Store, subject: Descriptor | None) -> AssembledImage:
    """Return the artifact of a lock: the lock, and each of its files under its path in the directory of `fetch`.

    The same lock and subject give the same artifact. A program that unpacks artifacts by the titles of their layers
    writes such a directory.

    Args:
        lock: The lock; its files are in the store.
        store: Receives the lock.
        subject: Manifest of the image of the lock; None if the registry does not have it.
    """
    paths = {
        path_of_lock(lock): store.put(dump(lock).encode()),
        **{each.path: each.digest for each in named_files(lock)},
    }
    blobs = {path: _descriptor(each, store) for path, each in sorted(paths.items())}
    created = timestamp(lock.epoch)
    manifest = artifact(
        ARTIFACT_TYPE,
        [entry(blob) | {"annotations": {"org.opencontainers.image.title": path}} for path, blob in blobs.items()],
        subject=subject,
        annotations={"io.envbuilder.lock": digest(lock), "org.opencontainers.image.created": created},
    )
    return AssembledImage(
        layers=tuple(
            ImageLayerPin(id=path, key=blob.digest, diff_id=blob.digest, blob=blob) for path, blob in blobs.items()
        ),
        config=EMPTY,
        manifest=manifest,
    )


def inputs_tag(lock: Lock) -> str:
    """Return the tag of the artifact of a lock."""
    return f"inputs-{digest(lock).removeprefix('sha256:')[:_SHOWN]}"


def _descriptor(digest_of_file: str, store: Store) -> Descriptor:
    size = store.path(digest_of_file).stat().st_size
    return Descriptor(media_type=_FILE_TYPE, digest=digest_of_file, size=size)

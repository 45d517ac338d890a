"""OCI image layout in a directory, which may contain other images."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from envbuilder.core.digests import has_digest
from envbuilder.core.errors import UsageError
from envbuilder.core.file_locks import hold
from envbuilder.core.files import copied, replacing
from envbuilder.core.json_fields import Record, at, parsed, record, records, text
from envbuilder.oci.images import AssembledImage, Descriptor
from envbuilder.oci.layout import contents
from envbuilder.oci.layout.contents import INDEX_FILE, LAYOUT, LAYOUT_FILE, NAME, blob_name
from envbuilder.oci.store import Store, full_disk


def write_layout(
    image: AssembledImage, store: Store, folder: Path, names: Sequence[str], *, attestations: bool = False
) -> None:
    """Write an image into a layout, which is created if it is missing.

    The index is replaced last, so that a concurrent reader sees the previous layout or the complete image. Blobs of
    images that lose their names are kept.

    Args:
        image: The image.
        store: Contains the layers; they are verified. Blobs become hard links to its files if possible.
        folder: The layout.
        names: The first one becomes `org.opencontainers.image.ref.name`; all of them are removed from other images of
            the layout.
        attestations: Whether the index also lists the attached documents, so that the layout no longer holds one image.

    Raises:
        UsageError: The directory contains something else, or a name is invalid.
        VerificationFailed: A layer is damaged or missing from the store.
        DiskFull: No space is left.
    """
    wanted = contents.checked_names(names)
    layers = contents.verified_layers(image, store)
    with full_disk(folder / LAYOUT_FILE):
        _prepare(folder)
        with _locked(folder):
            others = _others(folder, image, wanted)
            image = contents.delivered(image, attestations=attestations)
            (folder / "blobs" / "sha256").mkdir(parents=True, exist_ok=True)
            for blob, source in layers:
                _place(blob, source, folder)
            for document in contents.small_documents(image):
                _replace(folder / blob_name(document.descriptor.digest), document.content)
            _replace(folder / INDEX_FILE, contents.index((*others, *contents.index_entries(image, wanted))))


def _prepare(folder: Path) -> None:
    """Make a valid layout in a missing or empty directory."""
    if folder.is_dir() and any(folder.iterdir()):
        version = at(parsed(_content(folder / LAYOUT_FILE)), "imageLayoutVersion")
        if not isinstance(version, str) or not version.startswith("1."):
            raise UsageError(
                f"{folder} already exists and is not an OCI image layout", hint="specify a new or an empty directory"
            )
        return
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"{folder} already exists and is not a directory", hint="specify a new or an empty directory")
    part = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.part")
    try:
        (part / "blobs" / "sha256").mkdir(parents=True)
        (part / LAYOUT_FILE).write_bytes(LAYOUT)
        (part / INDEX_FILE).write_bytes(contents.index(()))
        _settle(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _settle(part: Path, folder: Path) -> None:
    try:
        part.rename(folder)
    except OSError:
        # Another process has created the same layout meanwhile.
        if not (folder / LAYOUT_FILE).is_file():
            raise


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a layout against other processes that write to it."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        hold(handle, folder / INDEX_FILE)
        yield
    finally:
        os.close(handle)


def _others(folder: Path, image: AssembledImage, names: Sequence[str]) -> tuple[Record, ...]:
    """Return the entries of the index that are kept."""
    path = folder / INDEX_FILE
    index = record(parsed(_content(path)))
    if path.exists() and not isinstance(index.get("manifests"), list):
        raise UsageError(f"{path} is not an index of images", hint="specify a new or an empty directory")
    again = {manifest.descriptor.digest for manifest, _ in image.attached}
    kept = []
    for listed in records(index, "manifests"):
        name, digest = text(listed, "annotations", NAME), text(listed, "digest")
        nameless = digest == image.manifest.descriptor.digest and not name
        if name not in names and not nameless and digest not in again:
            kept.append(listed)
    return tuple(kept)


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def _place(blob: Descriptor, source: Path, folder: Path) -> None:
    """Link or copy one layer; keep an existing one if it is correct."""
    target = folder / blob_name(blob.digest)
    if target.is_file() and (target.samefile(source) or has_digest(target, blob.digest)):
        return
    part = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    try:
        os.link(source, part)
        part.replace(target)
    except OSError:
        # Another file system, one without links, or a file that the user may not link to.
        copied(source, target)
    finally:
        part.unlink(missing_ok=True)


def _replace(path: Path, content: bytes) -> None:
    with replacing(path) as stream:
        stream.write(content)

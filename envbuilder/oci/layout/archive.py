"""Image archive in one tar that is both an OCI layout and the output format of `docker save`.

`skopeo copy oci-archive:…` reads it by the index, `docker load` by `manifest.json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from envbuilder.oci.images import AssembledImage, Descriptor
from envbuilder.oci.layout import contents
from envbuilder.oci.layout.contents import blob_name
from envbuilder.oci.store import Store, full_disk
from envbuilder.oci.tar.members import Kind, Member, file_from, file_of
from envbuilder.oci.tar.writing import Written, write


def write_archive(
    image: AssembledImage, store: Store, out: Path, names: Sequence[str], *, attestations: bool = False
) -> Written:
    """Write an image; the bytes depend on the arguments only.

    The layers in the store are verified; the file appears only after it is complete. `names` and `attestations` as in
    `write_layout`; `docker load` uses all names that are `repository:tag`.

    Raises:
        UsageError: A name is invalid.
        VerificationFailed: A layer is damaged or missing from the store.
        DiskFull: No space is left.
    """
    wanted = contents.checked_names(names)
    layers = contents.verified_layers(image, store)
    members = archive_members(contents.delivered(image, attestations=attestations), layers, wanted)
    with full_disk(out):
        return write([*members, _folder("blobs"), _folder("blobs/sha256")], out)


def archive_members(
    image: AssembledImage, layers: Iterable[tuple[Descriptor, Path]], names: Sequence[str] = ()
) -> list[Member]:
    """Return the files of an archive: its documents, then some of the layers with their files."""
    small = {
        contents.LAYOUT_FILE: contents.LAYOUT,
        contents.INDEX_FILE: contents.index(contents.index_entries(image, names)),
        contents.DOCKER_FILE: contents.docker_manifest(image, names),
    }
    for document in contents.small_documents(image):
        small[blob_name(document.descriptor.digest)] = document.content
    return [
        *(file_of(name, content, mtime=0) for name, content in small.items()),
        *(file_from(path, blob_name(blob.digest), mtime=0) for blob, path in layers),
    ]


def _folder(path: str) -> Member:
    return Member(path=path, kind=Kind.FOLDER, mode=0o755, mtime=0)

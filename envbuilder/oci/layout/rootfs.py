"""Root file system of an image in a directory, unpacked without root privileges.

The directory is new, and the merged tree has no member below a link, so that writes never follow links.
"""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypedDict

from envbuilder.core.archives.confined_writer import ConfinedWriter
from envbuilder.core.errors import UsageError
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.layout.merge import LayerFile, Tree, merged, read
from envbuilder.oci.runtime.outputs import discard
from envbuilder.oci.store import Store, full_disk
from envbuilder.oci.tar.members import Kind, Member

_THREADS = 4
_SET_IDS = stat.S_ISUID | stat.S_ISGID


def unpack(image: AssembledImage, store: Store, folder: Path) -> None:
    """Unpack an image into a directory, which must not exist, and appears only after it is complete.

    As root, owners and modes are those of the image. As another user, everything is owned by the caller, set-user-ID
    and set-group-ID bits are dropped, and the owner may read everything. Devices, pipes and extended attributes are
    left out.

    Raises:
        UsageError: The directory exists already.
        VerificationFailed: A layer is damaged, or has a member that leads out of the directory; see `merge.merged`.
        DiskFull: No space is left.
    """
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{folder} already exists", hint="specify a new directory, or remove this one")
    tree = merged(image, store)
    part = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.part")
    try:
        with full_disk(part):
            part.mkdir(mode=0o700)
            _write(tree, part, as_root=os.geteuid() == 0)
            part.rename(folder)
    finally:
        discard(part)


def _write(tree: Tree, root: Path, *, as_root: bool) -> None:
    with ConfinedWriter(root) as below:
        for member in tree.folders:
            below.folder(member.path, 0o700)
        for member in tree.others:
            if member.kind is Kind.SYMLINK:
                below.symlink(member.path, member.target, mtime=member.mtime, owner=_owner(member, as_root=as_root))
        write_layer = partial(_write_layer, root, as_root=as_root)
        with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as pool:
            # No two layers write the same path, so that their order does not matter.
            for _ in pool.map(write_layer, tree.layers, tree.files):
                pass
        for member in reversed(tree.folders):
            below.describe(member.path, **_description(member, as_root=as_root))
        below.describe(".", mode=0o755)


def _write_layer(root: Path, layer: LayerFile, wanted: Mapping[int, tuple[Member, ...]], *, as_root: bool) -> None:
    with ConfinedWriter(root) as below:
        for tar, (first, *others) in read(layer, wanted):
            with below.file(first.path, **_description(first, as_root=as_root)) as stream:
                stream.writelines(tar.content())
            for other in others:
                below.hard_link(other.path, first.path)


class _Description(TypedDict):
    mode: int
    mtime: int
    owner: tuple[int, int] | None


def _description(member: Member, *, as_root: bool) -> _Description:
    mode = member.mode
    if not as_root:
        mode = mode & ~_SET_IDS | (0o700 if member.kind is Kind.FOLDER else 0o400)
    return {"mode": mode, "mtime": member.mtime, "owner": _owner(member, as_root=as_root)}


def _owner(member: Member, *, as_root: bool) -> tuple[int, int] | None:
    return (member.uid, member.gid) if as_root else None

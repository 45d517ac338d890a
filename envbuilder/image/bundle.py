"""A lock and every file that a rebuild needs, in one archive."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from envbuilder.core.archives.member_names import BadArchive
from envbuilder.core.archives.tar_reader import FILE, FileStream, TarEntry, TarReader
from envbuilder.core.digests import is_digest
from envbuilder.core.errors import InvalidInput, SourceUnreachable, UsageError, VerificationFailed
from envbuilder.core.memory_policy import HOOK
from envbuilder.core.names import shown
from envbuilder.lock.lock import Lock, OsPackagePin
from envbuilder.lock.lockfile import dump, load
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import file_from, file_of
from envbuilder.oci.tar.writing import Written, write

LOCK_NAME = "envbuilder.lock"
_BLOBS = "sha256"
_LARGEST_LOCK = 16 << 20
_HINT = "`envbuilder bundle LOCK -o FILE` creates one"
_COPY = "copy it again from its source"


def bundle(lock: Lock, out: Path, store: Store, digests: Iterable[str]) -> Written:
    """Write a bundle; the same lock gives the same bytes.

    The store must contain the files with these digests; the bundle contains them and the lock.

    Raises:
        SourceUnreachable: A file of the lock is not in the store and cannot be fetched.
        VerificationFailed: The store is damaged.
        DiskFull: There is no room.
    """
    members = [file_of(LOCK_NAME, dump(lock).encode(), mtime=lock.epoch)]
    for digest in sorted(set(digests)):
        name = f"{_BLOBS}/{digest.removeprefix('sha256:')}"
        members.append(file_from(_there(digest, lock, store), name, mtime=lock.epoch))
    return write(members, out)


def _there(digest: str, lock: Lock, store: Store) -> Path:
    try:
        return store.verified(digest)
    except FileNotFoundError as error:
        raise SourceUnreachable(
            f"{_name_of(digest, lock)} with {digest} is not on this machine and cannot be fetched",
            hint="run `envbuilder bundle` beside the envbuilder.yaml of the lock, or lock again: `envbuilder lock`",
        ) from error


def _name_of(digest: str, lock: Lock) -> str:
    """Return the name of a file in a lock."""
    os_packages: tuple[OsPackagePin, ...] = lock.all_os_packages
    names = {
        lock.python.sha256: lock.python.file,
        **{tool.sha256: f"the tool {tool.name}" for tool in lock.tools},
        **{file.sha256: f"the own file {file.path}" for file in lock.files},
        **{archive.sha256: f"the vendor archive {archive.file}" for archive in lock.archives},
        **{pin.sha256: f"the OS package {pin.name}={pin.version}" for pin in os_packages},
        **{pin.sha256: pin.file for pin in lock.packages},
    }
    return names.get(digest.removeprefix("sha256:")) or "a layer of the base"


def open_bundle(path: Path, store: Store, check: Callable[[BinaryIO], None] = lambda _: None) -> Lock:
    """Add the files of a bundle to the store, each verified by its name, and return its lock.

    `check` raises if the bundle is not signed as required; it is called before anything is read.

    Hashes prove only that the files belong to the lock in the same archive; a signature proves the author of both.

    Raises:
        UsageError: It is not a bundle.
        VerificationFailed: It is damaged, or refused by `check`.
        DiskFull: There is no room.
    """
    if not path.is_file():
        raise UsageError(f"{path} is not a bundle: not a regular file", hint=_HINT)
    with path.open("rb") as stream:
        check(stream)
        stream.seek(0)
        try:
            found = _taken(stream, store, path)
        except (BadArchive, UnicodeDecodeError, InvalidInput) as error:
            raise UsageError(f"{path} is not a bundle: {error}", hint=_HINT) from error
    if found is None:
        raise UsageError(f"{path} is not a bundle: it contains no lock", hint=_HINT)
    return found


def _taken(stream: BinaryIO, store: Store, path: Path) -> Lock | None:
    found: Lock | None = None
    archive = TarReader(FileStream(stream, os.fstat(stream.fileno()).st_size), str(path))
    for entry in archive.entries():
        if entry.path == LOCK_NAME:
            if found is not None:
                raise BadArchive("it has two locks")
            found = load(_lock_text(entry, archive), f"{path}:{LOCK_NAME}")
        elif entry.flag == FILE and entry.path.startswith(f"{_BLOBS}/"):
            _take(f"sha256:{entry.path.removeprefix(f'{_BLOBS}/')}", archive.content(), store, path)
    return found


def _lock_text(entry: TarEntry, archive: TarReader) -> str:
    if entry.size > _LARGEST_LOCK:
        raise BadArchive(f"its lock has {entry.size} bytes; no more than {_LARGEST_LOCK} are read")
    return b"".join(archive.content()).decode("utf-8")


def _take(digest: str, content: Iterable[bytes], store: Store, path: Path) -> None:
    if not is_digest(digest):
        raise VerificationFailed(f"{path} is damaged: {shown(digest)} is not a digest", hint=_COPY)
    if store.has(digest):
        return
    try:
        with store.writing(expected=digest) as writer:
            for piece in content:
                writer.write(piece)
    except VerificationFailed as error:
        raise VerificationFailed(f"{path} is damaged: {error.message}", hint=_COPY) from error


def files_of(lock: Lock) -> tuple[str, ...]:
    """Return the digests of all files of a lock: packages, .debs, archives, own files, own tools."""
    os_packages: tuple[OsPackagePin, ...] = lock.all_os_packages
    hashes = [
        *(pin.sha256 for pin in lock.packages),
        *(pin.sha256 for pin in os_packages if pin.sha256),
        *(file.sha256 for file in lock.files),
        *([lock.python.sha256] if lock.python.sha256 else []),
        *(archive.sha256 for archive in lock.archives),
        *(tool.sha256 for tool in lock.tools if tool.name in {"probe", HOOK}),
    ]
    return tuple(f"sha256:{each}" for each in dict.fromkeys(hashes))

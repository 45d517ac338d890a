"""A lock and every file that a rebuild needs, in one archive."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from envbuilder.errors import InvalidInput, UsageError, VerificationFailed
from envbuilder.files import CHUNK
from envbuilder.locking.lockfile import dump, load
from envbuilder.model.locks import Lock, OsPackagePin
from envbuilder.model.memory import HOOK
from envbuilder.store import Store
from envbuilder.tar.members import Kind, Member, file_of, opened_at
from envbuilder.tar.writing import Written, write

LOCK_NAME = "envbuilder.lock"
_BLOBS = "sha256"


@dataclass(frozen=True, slots=True, kw_only=True)
class BundlePorts:
    """What bundling needs of the world.

    Attributes:
        store: Has, or gets, every file.
        gather: Makes sure that the store has every file of a lock; gives the digests that a rebuild needs.
    """

    store: Store
    gather: Callable[[Lock], Iterable[str]]


def bundle(lock: Lock, out: Path, ports: BundlePorts) -> Written:
    """Write a bundle; same lock, same bytes.

    Args:
        lock: The lock, which goes into it too.
        out: File to write.
        ports: The world.

    Raises:
        SourceUnreachable: A file of the lock cannot be had.
        VerificationFailed: The store is damaged.
        DiskFull: There is no room.
    """
    digests = sorted(set(ports.gather(lock)))
    members = [file_of(LOCK_NAME, dump(lock).encode(), mtime=lock.epoch)]
    for digest in digests:
        path = ports.store.verified(digest)
        members.append(
            Member(
                path=f"{_BLOBS}/{digest.removeprefix('sha256:')}",
                kind=Kind.FILE,
                mode=0o644,
                mtime=lock.epoch,
                size=path.stat().st_size,
                open=partial(opened_at, path, 0),
            )
        )
    return write(members, out)


def open_bundle(path: Path, store: Store) -> Lock:
    """Take the files of a bundle into the store, each compared with its name; gives its lock.

    Raises:
        UsageError: It is no bundle.
        VerificationFailed: It is damaged.
        DiskFull: There is no room.
    """
    found: Lock | None = None
    try:
        with tarfile.open(path, "r:") as archive:
            for info in archive:
                stream = archive.extractfile(info)
                if stream is None:
                    continue
                if info.name == LOCK_NAME:
                    found = load(stream.read().decode("utf-8"), f"{path}:{LOCK_NAME}")
                elif info.name.startswith(f"{_BLOBS}/"):
                    _take(f"sha256:{info.name.removeprefix(f'{_BLOBS}/')}", partial(stream.read, CHUNK), store, path)
    except (tarfile.TarError, UnicodeDecodeError, InvalidInput, EOFError) as error:
        raise UsageError(f"{path} is no bundle: {error}", hint="`envbuilder bundle LOCK -o FILE` makes one") from error
    if found is None:
        raise UsageError(f"{path} is no bundle: it has no lock", hint="`envbuilder bundle LOCK -o FILE` makes one")
    return found


def _take(digest: str, read: Callable[[], bytes], store: Store, path: Path) -> None:
    if store.has(digest):
        return
    try:
        with store.writing(expected=digest) as writer:
            while piece := read():
                writer.write(piece)
    except VerificationFailed as error:
        raise VerificationFailed(
            f"{path} is damaged: {error.message}", hint="copy it again from where it was made"
        ) from error


def files_of(lock: Lock) -> tuple[str, ...]:
    """Digests of every file that a lock names and that can be kept: packages, .debs, archive, own files, own tools."""
    os_packages: tuple[OsPackagePin, ...] = (*lock.base.packages, *lock.os_packages)
    hashes = [
        *(pin.sha256 for pin in lock.packages),
        *(pin.sha256 for pin in os_packages if pin.sha256),
        *(file.sha256 for file in lock.files),
        *([lock.python.sha256] if lock.python.sha256 else []),
        *(tool.sha256 for tool in lock.tools if tool.name in {"probe", HOOK}),
    ]
    return tuple(f"sha256:{each}" for each in dict.fromkeys(hashes))

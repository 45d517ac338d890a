"""The files of locks in a directory, each under a name that shows its source.

That of vendor archives can replace every publisher: `--publisher '*'=DIR/archives`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.digests import has_digest
from envbuilder.core.errors import VerificationFailed
from envbuilder.core.files import copied, replacing
from envbuilder.image.bundle import files_of
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest, dump
from envbuilder.oci.store import Store

_ARCHIVES = "archives"
_BLOBS = "sha256"
_DEBS = "debs"
_LOCKS = "locks"
_PACKAGES = "packages"
_PYTHONS = "pythons"
_SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFile:
    """A file that a lock needs."""

    path: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDirectory:
    """A directory with files of locks.

    Attributes:
        folder: Created on first use.
        progress: Progress callback; receives one line of text.
    """

    folder: Path
    store: Store
    progress: Callable[[str], None]

    def take(self, files: Iterable[NamedFile]) -> None:
        """Copy files that the store lacks from the directory into it, each verified."""
        for file in files:
            path = self.folder / file.path
            if not self.store.has(file.digest) and path.is_file():
                self._take(path, file.digest)

    def _take(self, path: Path, expected: str) -> None:
        try:
            self.store.take(path, expected)
        except VerificationFailed as error:
            self.progress(f"{path} is damaged or belongs to another lock: {error.message}")

    def put(self, files: Iterable[NamedFile]) -> tuple[Path, ...]:
        """Write the files that are in the store; return their paths, in order.

        Raises:
            VerificationFailed: A file of the store is damaged.
            OSError: The directory cannot be written.
        """
        return tuple(self._put(file) for file in files if self.store.has(file.digest))

    def _put(self, file: NamedFile) -> Path:
        target = self.folder / file.path
        if not has_digest(target, file.digest):
            target.parent.mkdir(parents=True, exist_ok=True)
            copied(self.store.verified(file.digest), target)
        return target

    def put_lock(self, lock: Lock) -> Path:
        """Write a lock; return its path."""
        path = self.folder / path_of_lock(lock)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as stream:
            stream.write(dump(lock).encode())
        return path


def path_of_lock(lock: Lock) -> str:
    """Return the path of a lock in the directory."""
    return f"{_LOCKS}/{lock.environment}-{digest(lock).removeprefix('sha256:')[:_SHOWN]}.lock"


def named_files(lock: Lock) -> tuple[NamedFile, ...]:
    """Return the files of a lock without its base, sorted by path.

    Files without a name of their own (the user's files, and tools of envbuilder) are named by their hash.
    """
    paths = {
        **{pin.sha256: f"{_PACKAGES}/{pin.file}" for pin in lock.packages},
        **{pin.sha256: f"{_DEBS}/{pin.file}" for pin in lock.all_os_packages if pin.file},
        **{pin.sha256: f"{_ARCHIVES}/{pin.path or pin.file}" for pin in lock.archives},
        lock.python.sha256: f"{_PYTHONS}/{lock.python.file}",
    }
    found = []
    for each in files_of(lock):
        digits = each.removeprefix("sha256:")
        found.append(NamedFile(path=paths.get(digits, f"{_BLOBS}/{digits}"), digest=each))
    return tuple(sorted(found, key=lambda file: file.path))

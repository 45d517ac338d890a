"""Records of unfinished uploads, by which a later run continues where the registry stopped."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.file_locks import hold_now, open_lock
from envbuilder.core.http.origins import origin
from envbuilder.oci.registry.addresses import Place

FOLDER = "uploads"
"""Name of the directory in the store."""

_LIFE = 6 * 3600.0
"""Seconds for which an upload is continued. Registries discard one after hours or days: docker-registry after a week
(`uploadpurging.age`, 168 h), https://distribution.github.io/distribution/about/configuration/#uploadpurging."""

_LONGEST = 1 << 14


class UploadRecord:
    """The address of one upload.

    Args:
        kept: File that this process has locked, and its file descriptor; None to record nothing: the blob is small,
            another process sends it, or the cache is read-only.
        location: Address from an earlier run; empty for none.
    """

    def __init__(self, kept: tuple[Path, int] | None = None, location: str = "") -> None:
        self.location = location
        self._kept = kept

    def keep(self, location: str) -> None:
        """Record the address for the next piece; without success if the disk is full."""
        if self._kept:
            with suppress(OSError):
                os.ftruncate(self._kept[1], 0)
                os.pwrite(self._kept[1], location.encode(), 0)

    def forget(self) -> None:
        """Remove the record."""
        self.location = ""
        if self._kept:
            with suppress(OSError):
                self._kept[0].unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadRecords:
    """Records of unfinished uploads, one file for each blob and repository.

    An address may contain a token, so the files can be read by this user only. A record is a hint: the registry states
    what it has, and compares the digest at the end.

    Attributes:
        folder: Created on first use.
        now: Returns the time of files.
    """

    folder: Path
    now: Callable[[], float] = time.time

    @contextmanager
    def of(self, place: Place, digest: str) -> Iterator[UploadRecord]:
        """Yield the record of a blob; nothing is recorded if another process holds it, or in a read-only cache."""
        path = self.folder / hashlib.sha256(f"{place} {digest}".encode()).hexdigest()
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._remove_old()
            handle = open_lock(path)
        except OSError:
            yield UploadRecord()
            return
        try:
            yield UploadRecord((path, handle), _location(handle)) if hold_now(handle, path) else UploadRecord()
        finally:
            os.close(handle)

    def _remove_old(self) -> None:
        for path in self.folder.iterdir():
            with suppress(OSError):
                if self.now() - path.lstat().st_mtime > _LIFE:
                    path.unlink()


def _location(handle: int) -> str:
    """Return the recorded address; empty if there is none."""
    text = os.pread(handle, _LONGEST + 1, 0).decode("ascii", "replace")
    try:
        origin(text)
    except ValueError:
        return ""
    return text if len(text) <= _LONGEST and text.isascii() and text.isprintable() and "://" in text else ""

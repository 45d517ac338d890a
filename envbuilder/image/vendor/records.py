"""Records of vendor archives that were opened: which files were taken out of them.

A record is accepted only if it has the digest of its own content; any other is removed, and the archive is opened
again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from envbuilder.core import structure
from envbuilder.core.digests import digits_of
from envbuilder.core.field_rules import Unique
from envbuilder.core.field_types import Digest, FileSize, Sha256
from envbuilder.core.files import read_json
from envbuilder.image.layers.records import believed, sum_of, with_sum, write_record
from envbuilder.oci.store import Store

ARCHIVE_RECORDS = "archives"
"""Directory of the records in a store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenFile:
    """A file that was taken out of an archive.

    Attributes:
        path: Path that the lock names: the file, or a link to it.
        file: Path of the file in the archive.
        digest: `sha256:…` of its content, under which it is in the store.
        size: Its bytes.
    """

    path: str
    file: str
    digest: Digest
    size: FileSize


@dataclass(frozen=True, slots=True, kw_only=True)
class _RecordFile:
    archive: Sha256
    inner: str
    files: Annotated[tuple[TakenFile, ...], Unique("path")]
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveRecords:
    """The records of a store.

    Attributes:
        store: Holds them in the directory `archives`.
    """

    store: Store

    def taken(self, archive: str, inner: str) -> dict[str, TakenFile]:
        """Return the files that were taken out of an archive, by the path that a lock names.

        Args:
            archive: sha256 of the archive, 64 digits.
            inner: The member that they are in, for a nested archive; else empty.
        """
        path = self._path(archive)
        found = believed(path, lambda: _read(path, archive, inner))
        return {each.path: each for each in found or ()}

    def keep(self, archive: str, inner: str, taken: Mapping[str, TakenFile]) -> None:
        """Record files that were taken out of an archive, beside those known already."""
        known = self.taken(archive, inner) | dict(taken)
        files = tuple(each for _, each in sorted(known.items()))
        plain = structure.dump(_RecordFile(archive=archive, inner=inner, files=files))
        write_record(self._path(archive), with_sum(plain))

    def _path(self, archive: str) -> Path:
        return self.store.folder / ARCHIVE_RECORDS / f"{digits_of(f'sha256:{archive}')}.json"


def _read(path: Path, archive: str, inner: str) -> tuple[TakenFile, ...]:
    plain = read_json(path)
    found = structure.load(_RecordFile, plain)
    if not isinstance(plain, dict) or found.sha256 != sum_of(plain):
        raise ValueError("the record was modified")
    if (found.archive, found.inner) != (archive, inner):
        raise ValueError(f"not the record of {archive}")
    return found.files

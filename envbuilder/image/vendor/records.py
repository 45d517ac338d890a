"""Records of vendor archives that were opened: which libraries they contain.

A record is accepted only if it has the digest of its own content; any other is removed, and the archive is opened
again.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.canonical_json import indented_json
from envbuilder.core.digests import sha256_digest
from envbuilder.core.files import read_json, replacing
from envbuilder.core.json_fields import number, record, records, text
from envbuilder.image.layers.records import sum_of
from envbuilder.oci.store import Store, digits_of

FOLDER = "archives"
_SUM = "sha256"


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
    digest: str
    size: int


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
        try:
            return _read(read_json(path), archive, inner)
        except OSError:
            return {}
        except (ValueError, KeyError, TypeError):
            with suppress(OSError):
                path.unlink()
            return {}

    def keep(self, archive: str, inner: str, taken: Mapping[str, TakenFile]) -> None:
        """Record files that were taken out of an archive, beside those known already."""
        known = self.taken(archive, inner) | dict(taken)
        files = [
            {"path": each.path, "file": each.file, "digest": each.digest, "size": each.size}
            for _, each in sorted(known.items())
        ]
        plain: dict[str, object] = {"archive": archive, "inner": inner, "files": files}
        path = self._path(archive)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as stream:
            stream.write(indented_json(plain | {_SUM: sum_of(plain)}))

    def _path(self, archive: str) -> Path:
        return self.store.folder / FOLDER / f"{digits_of(f'sha256:{archive}')}.json"


def _read(plain: object, archive: str, inner: str) -> dict[str, TakenFile]:
    fields = record(plain)
    if text(fields, _SUM) != sum_of(fields) or (text(fields, "archive"), text(fields, "inner")) != (archive, inner):
        raise ValueError("another archive, or a modified record")
    found = (
        TakenFile(
            path=text(each, "path"),
            file=text(each, "file"),
            digest=sha256_digest(each["digest"]),
            size=number(each, "size"),
        )
        for each in records(fields, "files")
    )
    return {each.path: each for each in found}

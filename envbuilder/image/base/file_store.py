"""Interpreter archives and programs that locks name by hash: a store in which files keep their names."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.digests import digest_of_file, is_digest
from envbuilder.core.files import CHUNK, replacing
from envbuilder.oci.store import Store, digits_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStore(Store):
    """A store with its files as `<folder>/<64 digits>/<file name>`."""

    def path(self, digest: str) -> Path:
        """See `Store.path`."""
        place = self.folder / digits_of(digest)
        if place.is_symlink():
            return place
        return next((path for path in sorted(place.glob("[!.]*")) if path.is_file()), place / "file")

    def add(self, file: Path) -> str:
        """Add a copy of a file; identical content is stored once.

        Returns:
            Its sha256, 64 hexadecimal digits.
        """
        digits = hash_file(file)
        target = self.folder / digits / file.name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            with replacing(target) as copy, file.open("rb") as content:
                shutil.copyfileobj(content, copy, CHUNK)
            target.chmod(file.stat().st_mode & 0o755 | 0o444)
        return digits

    def find(self, sha256: str) -> Path | None:
        """Return the file with this hash, verified; None if it is not here, or this is no hash.

        Raises:
            VerificationFailed: As in `Store.verified`.
        """
        digest = f"sha256:{sha256}"
        return self.verified(digest) if is_digest(digest) and self.has(digest) else None

    def named(self, pattern: str) -> tuple[Path, ...]:
        """Return the files whose name matches a shell pattern, sorted by name and hash."""
        return tuple(sorted(self.folder.glob(f"*/{pattern}"), key=lambda path: (path.name, path.parent.name)))


def hash_file(file: Path) -> str:
    """Return the sha256 of a file as locks write it, 64 hexadecimal digits."""
    return digits_of(digest_of_file(file))

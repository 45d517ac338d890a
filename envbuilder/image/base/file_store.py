"""Interpreter archives and programs that locks name by hash, under their own names.

A packed interpreter may be the only copy of it, so its directory can be read without envbuilder: unlike the content of
`Store`, a file keeps its name and is removed by `cache prune --all` only. Verification is that of `Store`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from envbuilder.core.digests import digest_of_file, digits_of, is_digest, verified
from envbuilder.core.files import copied


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStore:
    """Files as `<folder>/<64 digits>/<file name>`.

    Attributes:
        folder: Created on first use.
        trusted: As in `Store`.
    """

    folder: Path
    trusted: set[Path] = field(default_factory=set)

    def add(self, file: Path) -> str:
        """Add a copy of a file; identical content is stored once.

        Returns:
            Its sha256, 64 hexadecimal digits.
        """
        digits = digits_of(digest_of_file(file))
        target = self.folder / digits / file.name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            copied(file, target)
            target.chmod(file.stat().st_mode & 0o755 | 0o444)
        return digits

    def find(self, sha256: str) -> Path | None:
        """Return the file with this hash, verified; None if it is not here, or this is no hash.

        Raises:
            VerificationFailed: As in `Store.verified`.
        """
        digest, place = f"sha256:{sha256}", self.folder / sha256
        if not is_digest(digest) or place.is_symlink():
            return None
        files = (path for path in sorted(place.glob("[!.]*")) if path.is_file() and not path.is_symlink())
        found = next(files, None)
        return verified(found, digest, self.trusted) if found else None

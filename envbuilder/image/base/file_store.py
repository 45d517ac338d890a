"""Files that locks name by hash, kept in the cache folder and verified whenever they are used."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.digests import digest_of_file, is_digest
from envbuilder.core.errors import VerificationFailed
from envbuilder.core.files import CHUNK, replacing


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStore:
    """A folder of files, each under its own sha256.

    Attributes:
        folder: Made on first use. Holds `<sha256>/<file name>`.
    """

    folder: Path

    def add(self, file: Path) -> str:
        """Copy a file in; the same content twice is one file.

        Returns:
            Its sha256, 64 hexadecimal digits.
        """
        digest = hash_file(file)
        target = self.folder / digest / file.name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            with replacing(target) as copy, file.open("rb") as content:
                shutil.copyfileobj(content, copy, CHUNK)
            target.chmod(file.stat().st_mode & 0o755 | 0o444)
        return digest

    def find(self, sha256: str) -> Path | None:
        """The file with this hash; None when it was never added, or this is no hash: it never becomes another path.

        Raises:
            VerificationFailed: The file has changed since; it is taken out of the way, so the next run fetches it anew.
        """
        if not is_digest(f"sha256:{sha256}"):
            return None
        place = self.folder / sha256
        files = [] if place.is_symlink() else sorted(path for path in place.glob("[!.]*") if path.is_file())
        if not files:
            return None
        if hash_file(files[0]) != sha256:
            files[0].unlink()
            raise VerificationFailed(f"{files[0]} is not what it was: its sha256 has changed", hint="run it again")
        return files[0]

    def named(self, pattern: str) -> tuple[Path, ...]:
        """Files whose name matches a shell pattern, sorted by name and hash."""
        return tuple(sorted(self.folder.glob(f"*/{pattern}"), key=lambda path: (path.name, path.parent.name)))


def hash_file(file: Path) -> str:
    """The sha256 of a file as locks write it, 64 hexadecimal digits."""
    return digest_of_file(file).removeprefix("sha256:")

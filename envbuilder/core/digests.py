"""sha256 digests in the form of images, locks and caches: `sha256:` and 64 hexadecimal digits."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TypeGuard

from envbuilder.core.errors import VerificationFailed
from envbuilder.core.files import open_regular

_PREFIX = "sha256:"
_DIGEST = re.compile(rf"{_PREFIX}[0-9a-f]{{64}}")


def is_digest(text: object) -> TypeGuard[str]:
    """Return True if a value is a string of `sha256:` and 64 lower-case hexadecimal digits."""
    return isinstance(text, str) and _DIGEST.fullmatch(text) is not None


def sha256_digest(text: object) -> str:
    """Return a digest unchanged.

    Raises:
        ValueError: The value is something else; untrusted names never become paths.

    Example:
        >>> sha256_digest("sha256:12")
        Traceback (most recent call last):
        ValueError: 'sha256:12' is not a sha256 digest
    """
    if not is_digest(text):
        raise ValueError(f"{str(text)[:80]!r} is not a sha256 digest")
    return text


def digest_of(content: bytes) -> str:
    """Return the digest of some bytes."""
    return f"{_PREFIX}{hashlib.sha256(content).hexdigest()}"


def digest_of_file(path: Path) -> str:
    """Return the digest of a regular file; errors as in `open_regular`."""
    with open_regular(path) as stream:
        return f"{_PREFIX}{hashlib.file_digest(stream, 'sha256').hexdigest()}"


def digits_of(digest: str) -> str:
    """Return the 64 digits of a digest; errors as in `sha256_digest`."""
    return sha256_digest(digest).removeprefix(_PREFIX)


def has_digest(path: Path, digest: str) -> bool:
    """Return True if a path is a regular file with this digest; False if it cannot be read."""
    try:
        return digest_of_file(path) == digest
    except OSError:
        return False


def verified(path: Path, digest: str, trusted: set[Path]) -> Path:
    """Return the path of a file of the cache, after reading it as a whole once in each process.

    Args:
        path: The file.
        digest: Its required digest.
        trusted: Files that were verified before; this one is added.

    Raises:
        FileNotFoundError: There is no such file.
        VerificationFailed: It has another digest. It is removed, so that the next run gets it again.
    """
    if path not in trusted and digest_of_file(path) != digest:
        path.unlink(missing_ok=True)
        raise VerificationFailed(
            f"{path} in the cache directory was damaged: its digest is not {digest}; it was removed",
            hint="run the command again",
        )
    trusted.add(path)
    return path


def shortened(digest: str) -> str:
    """Return the first 12 digits of a digest, with or without its prefix; empty for an empty text."""
    return digest.removeprefix(_PREFIX)[:12]

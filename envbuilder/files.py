"""Files that appear under their name only when they are complete."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

CHUNK = 1 << 20


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file beside `path` that takes its name, flushed to disk, when the block ends without an error.

    After an error nothing is left behind and an older file under the name is untouched.
    """
    # The name must differ between processes and threads, not be repeatable: it never outlives the block.
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """The digest of a file as `sha256:…`."""
    with path.open("rb") as stream:
        return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"

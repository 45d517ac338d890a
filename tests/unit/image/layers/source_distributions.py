"""Source distributions of toys."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path


def sdist(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write a source distribution with some files, by their paths in it."""
    path = folder / "toy-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path

"""Changes that commands make in an image: discarded afterwards, or kept for the next run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.cache_directories import KEPT, KEPT_MARKER, remove
from envbuilder.core.errors import UsageError
from envbuilder.core.file_locks import hold_now, open_lock
from envbuilder.core.json_fields import parsed, record, text
from envbuilder.oci.runtime.outputs import scratch

_LOCK = ".lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptChanges:
    """Changes under a name.

    Attributes:
        folder: Their directory.
        image: Reference of the image.
        digest: Digest of its manifest.
    """

    folder: Path
    image: str
    digest: str


@contextmanager
def place_for_changes(work: Path, kept: Path | None, *, image: str, digest: str) -> Iterator[Path]:
    """Yield a directory for the changes of one run.

    Args:
        work: For directories that are removed at the end.
        kept: Directory that keeps the changes; None to discard them.
        image: Reference of the image.
        digest: Digest of its manifest.

    Raises:
        UsageError: The directory has changes of another image, or something else; or another run uses it.
    """
    if not kept:
        with scratch(work) as folder:
            folder.chmod(0o755)
            yield folder
        return
    kept.mkdir(mode=0o755, parents=True, exist_ok=True)
    _refuse_other_files(kept)
    with _used_alone(kept):
        _claim(kept, image, digest)
        yield kept


def kept_in(room: Path) -> tuple[KeptChanges, ...]:
    """Return all changes that are kept under a name, sorted by name."""
    found = sorted(path.parent for path in room.glob(f"*/{KEPT_MARKER}"))
    return tuple(changes for folder in found if (changes := _read(folder)))


def remove_kept(room: Path, name: str) -> int:
    """Remove changes that are kept under a name; return the bytes freed.

    Raises:
        UsageError: There are none of this name, or a run uses them.
    """
    found = {changes.folder.name: changes.folder for changes in kept_in(room)}
    if name not in found:
        names = ", ".join(found) or "none"
        raise UsageError(f"no changes are kept as {name}; kept: {names}", hint="envbuilder cache list")
    with _used_alone(found[name]):
        return remove(found[name])


@contextmanager
def _used_alone(folder: Path) -> Iterator[None]:
    lock = open_lock(folder / _LOCK)
    try:
        if not hold_now(lock, folder / _LOCK):
            raise UsageError(f"{folder} is in use by another run", hint="wait until it has ended")
        yield
    finally:
        os.close(lock)


def _refuse_other_files(folder: Path) -> None:
    if not _read(folder) and any(path.name != _LOCK for path in folder.iterdir()):
        raise UsageError(
            f"{folder} has files that are not changes of an image", hint="specify an empty or a new directory"
        )


def _claim(folder: Path, image: str, digest: str) -> None:
    """Record the image of changes; refuse those of another image, whose files may be different."""
    before = _read(folder)
    if before is None:
        document = {"image": image, "digest": digest}
        (folder / KEPT_MARKER).write_text(f"{json.dumps(document)}\n", encoding="utf-8")
    elif before.digest != digest:
        named = folder.parent.name == KEPT
        raise UsageError(
            f"{folder} has changes of another image, {before.image} ({before.digest})",
            hint=f"use another --keep, or remove them: "
            f"{f'`envbuilder cache remove {folder.name}`' if named else f'`rm -r {folder}`'}",
        )


def _read(folder: Path) -> KeptChanges | None:
    try:
        document = record(parsed((folder / KEPT_MARKER).read_bytes()))
    except OSError:
        return None
    return KeptChanges(folder=folder, image=text(document, "image"), digest=text(document, "digest"))

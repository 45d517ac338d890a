"""Changes that commands make in an image: discarded afterwards, or kept for the next run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.cache_directories import KEPT, KEPT_MARKER, bytes_of, remove
from envbuilder.core.errors import UsageError
from envbuilder.core.file_locks import hold_now, open_lock
from envbuilder.core.files import write_text
from envbuilder.core.json_fields import number, parsed, record, text
from envbuilder.oci.runtime.outputs import scratch

_LOCK = ".lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptChanges:
    """Changes under a name.

    Attributes:
        digest: Digest of its manifest, or its id in the engine.
        engine: Engine that has the changes, in an image of its own; empty if they are in the directory.
        reference: Name of that image.
        is_saved: Whether that image was made.
        bytes: Its size above that of the image, when it was made.
    """

    folder: Path
    image: str
    digest: str
    engine: str = ""
    reference: str = ""
    is_saved: bool = False
    bytes: int = 0

    @property
    def used(self) -> int:
        """Bytes of the changes."""
        return self.bytes + bytes_of(self.folder)

    def refuse_other(self, digest: str, engine: str) -> None:
        """Raise UsageError unless the changes are of this image, in this engine."""
        if (self.digest, self.engine) == (digest, engine):
            return
        where = f"in {self.engine}" if self.engine else "in the cache directory"
        named = self.folder.parent.name == KEPT
        raise UsageError(
            f"{self.folder} has changes of another image, {self.image} ({self.digest})"
            if self.engine == engine
            else f"{self.folder} has changes of {self.image} {where}, which {engine or 'kernel namespaces'} cannot use",
            hint=f"use another --keep, or remove them: "
            f"{f'`envbuilder cache remove {self.folder.name}`' if named else f'`rm -r {self.folder}`'}",
        )


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
    is_new = not kept.exists()
    with claimed(kept) as before:
        changes = before or KeptChanges(folder=kept, image=image, digest=digest)
        changes.refuse_other(digest, "")
        recorded(changes)
        try:
            yield kept
        except UsageError:
            # The command was refused: nothing has changed.
            if is_new:
                remove(kept)
            raise


@contextmanager
def claimed(folder: Path) -> Iterator[KeptChanges | None]:
    """Yield what is kept in a directory, for this process alone; None in a new one, which is removed if it stays empty.

    Raises:
        UsageError: The directory has other files; or another run uses it.
    """
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    before = _read(folder)
    if not before and any(path.name != _LOCK for path in folder.iterdir()):
        raise UsageError(
            f"{folder} has files that are not changes of an image", hint="specify an empty or a new directory"
        )
    with _used_alone(folder):
        try:
            yield _read(folder)
        finally:
            if folder.is_dir() and {path.name for path in folder.iterdir()} <= {_LOCK}:
                remove(folder)


def recorded(changes: KeptChanges) -> None:
    """Write what is known about changes into their directory."""
    document = {
        name: getattr(changes, name) for name in ("image", "digest", "engine", "reference", "is_saved", "bytes")
    }
    write_text(changes.folder / KEPT_MARKER, f"{json.dumps(document)}\n")


def without_changes(folder: Path) -> None:
    """Forget a directory of whose name an engine has no changes, unless it has files for further runs."""
    if {path.name for path in folder.iterdir()} <= {_LOCK, KEPT_MARKER}:
        (folder / KEPT_MARKER).unlink(missing_ok=True)


def kept_in(room: Path) -> tuple[KeptChanges, ...]:
    """Return all changes that are kept under a name, sorted by name."""
    found = sorted(path.parent for path in room.glob(f"*/{KEPT_MARKER}"))
    return tuple(changes for folder in found if (changes := _read(folder)))


def remove_kept(room: Path, name: str, forget: Callable[[KeptChanges], None]) -> int:
    """Remove changes that are kept under a name, and those of an engine from it; return the bytes freed.

    Raises:
        UsageError: There are none of this name, or a run uses them.
    """
    found = {changes.folder.name: changes for changes in kept_in(room)}
    if name not in found:
        names = ", ".join(found) or "none"
        raise UsageError(f"no changes are kept as {name}; kept: {names}", hint="`envbuilder cache list` shows them")
    with _used_alone(found[name].folder):
        if found[name].engine:
            forget(found[name])
        return found[name].bytes + remove(found[name].folder)


@contextmanager
def _used_alone(folder: Path) -> Iterator[None]:
    lock = open_lock(folder / _LOCK)
    try:
        if not hold_now(lock, folder / _LOCK):
            raise UsageError(f"{folder} is in use by another run", hint="wait until it has ended")
        yield
    finally:
        os.close(lock)


def _read(folder: Path) -> KeptChanges | None:
    try:
        document = record(parsed((folder / KEPT_MARKER).read_bytes()))
    except OSError:
        return None
    return KeptChanges(
        folder=folder,
        image=text(document, "image"),
        digest=text(document, "digest"),
        engine=text(document, "engine"),
        reference=text(document, "reference"),
        is_saved=document.get("is_saved") is True,
        bytes=number(document, "bytes"),
    )

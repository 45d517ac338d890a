"""Output of new locks, and of differences between locks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from envbuilder.cli.documents import projects as documents
from envbuilder.cli.output.terminal import Meaning
from envbuilder.core.structure import document_of
from envbuilder.lock.diff import LockChange
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest

_COLOURS = {"+": Meaning.GOOD, "-": Meaning.BAD, "~": Meaning.DOUBTFUL}


def print_changes(changes: Iterable[LockChange]) -> None:
    """Print one line for each change, with a sign for added, removed and changed."""
    for change in changes:
        text = str(change)
        click.echo(click.style(text[0], fg=_COLOURS[text[0]]) + text[1:])


def lock_document(path: Path, lock: Lock) -> dict[str, Any]:
    """Return the description of a lock that was written as JSON."""
    return document_of(
        documents.WrittenLock,
        lock,
        lock=path,
        digest=digest(lock),
        manifest=lock.image.manifest if lock.image else None,
        base=lock.base.id,
        python=lock.python.version,
        packages=len(lock.packages),
        deviations=lock.differences,
    )


def change_document(change: LockChange) -> dict[str, Any]:
    """Return one difference as JSON."""
    return document_of(documents.FieldChange, change)

"""Lock to a folder that builds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from envbuilder.errors import SourceUnreachable, UsageError
from envbuilder.locking.lockfile import digest, dump
from envbuilder.model.locks import Lock
from envbuilder.planning.layers import plan
from envbuilder.rendering.folder import Rendered, render

_MARKER = ".rendered-by-envbuilder"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFile:
    """Something that this host needs to reach its sources; mounted for single build steps.

    Attributes:
        name: `ca.pem`, `uv.toml` or `sources.list`.
        content: Its bytes.
    """

    name: str
    content: bytes


def rendered(lock: Lock, templates: Path) -> Rendered:
    """The files of a lock; pure but for reading the templates."""
    return render(plan(lock, digest(lock)), dump(replace(lock, name="")), templates)


def write(files: Rendered, folder: Path, find: Callable[[str], Path | None], host: tuple[HostFile, ...] = ()) -> None:
    """Write a rendered folder.

    Args:
        files: What to write.
        folder: New, empty, or rendered before; nothing else is overwritten.
        find: Where a file with this sha256 is.
        host: Settings of this host to put beside it.

    Raises:
        UsageError: The folder holds something else.
        SourceUnreachable: A file that the lock names by hash is not here.
    """
    _make_room(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MARKER).write_text("What lies here is overwritten by the next `envbuilder render`.\n", encoding="utf-8")
    for text in files.texts:
        target = folder / text.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text.text, encoding="utf-8")
        target.chmod(0o755 if text.executable else 0o644)
    for attachment in files.attachments:
        source = find(attachment.sha256)
        if source is None:
            raise SourceUnreachable(
                f"{attachment.path} with sha256 {attachment.sha256} is not on this machine",
                hint="name it with --python-archive FILE, or lock again: `envbuilder lock`",
            )
        target = folder / attachment.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o755 if attachment.executable else 0o644)
    for file in host:
        _write_private(folder / "host" / file.name, file.content)


def _write_private(path: Path, content: bytes) -> None:
    """Write a file that may hold a password: nobody else may read it, whatever the umask."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        stream.write(content)


def _make_room(folder: Path) -> None:
    if not folder.exists():
        return
    if not folder.is_dir() or (any(folder.iterdir()) and not (folder / _MARKER).is_file()):
        raise UsageError(f"{folder} holds something that was not rendered here", hint="name a new folder with -o")
    for name in ("layers", "tools", "python", "host", "files"):
        shutil.rmtree(folder / name, ignore_errors=True)

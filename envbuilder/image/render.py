"""Rendering of a lock as a directory that can be built."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from envbuilder.core.archives.confined_writer import ConfinedWriter
from envbuilder.core.errors import SourceUnreachable, UsageError
from envbuilder.core.files import CHUNK
from envbuilder.image.dockerfile.build_context import Rendered, render
from envbuilder.image.plan.layers import plan
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest, dump

_MARKER = ".rendered-by-envbuilder"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFile:
    """A file with a setting that this host needs to reach its sources; mounted for single build steps.

    Attributes:
        name: `ca.pem`, `uv.toml` or `sources.list`.
    """

    name: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedFile:
    """A file that is copied into the directory.

    Attributes:
        path: Relative path there.
    """

    path: str
    source: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFiles:
    """What a build context needs beside the lock.

    Attributes:
        find: Returns the path of the file with a sha256; None if it is not on this machine.
        host: Settings of this host, written beside the rest.
        libraries: Files of the lock's vendor archives.
    """

    find: Callable[[str], Path | None]
    host: tuple[HostFile, ...] = ()
    libraries: tuple[CopiedFile, ...] = ()


def rendered(lock: Lock, templates: Path) -> Rendered:
    """Return the files of a lock; pure except for reading the templates."""
    return render(plan(lock, digest(lock)), dump(replace(lock, name="")), templates)


def write(files: Rendered, folder: Path, inputs: ContextFiles) -> None:
    """Write a rendered directory.

    The directory is new, empty, or rendered before; nothing else is overwritten.

    Raises:
        UsageError: The directory holds something else.
        SourceUnreachable: A file that the lock names by hash is not on this machine.
        BadArchive: A file would be outside the directory, or below a link.
    """
    _make_room(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with ConfinedWriter(folder) as below:
        with below.file(_MARKER, mode=0o644) as marker:
            marker.write(b"What lies here is overwritten by the next `envbuilder render`.\n")
        for text in files.texts:
            with below.file(text.path, mode=0o755 if text.executable else 0o644) as target:
                target.write(text.text.encode())
        for attachment in files.attachments:
            source = inputs.find(attachment.sha256)
            if source is None:
                raise SourceUnreachable(
                    f"{attachment.path} with sha256 {attachment.sha256} is not on this machine",
                    hint="name it with --python-archive FILE, or lock again: `envbuilder lock`",
                )
            _copy(source, below, attachment.path, 0o755 if attachment.executable else 0o644)
        for library in inputs.libraries:
            _copy(library.source, below, library.path, 0o644)
        for file in inputs.host:
            # It may contain a password.
            with below.file(f"host/{file.name}", mode=0o600) as target:
                target.write(file.content)


def _copy(source: Path, below: ConfinedWriter, path: str, mode: int) -> None:
    with source.open("rb") as content, below.file(path, mode=mode) as target:
        shutil.copyfileobj(content, target, CHUNK)


def _make_room(folder: Path) -> None:
    if not folder.exists():
        return
    if not folder.is_dir() or (any(folder.iterdir()) and not (folder / _MARKER).is_file()):
        raise UsageError(
            f"{folder} contains files that were not written by `envbuilder render`",
            hint="specify a new directory with -o",
        )
    for name in ("layers", "tools", "python", "host", "files", "libraries"):
        shutil.rmtree(folder / name, ignore_errors=True)

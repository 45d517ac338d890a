"""Inspection of the layers of an image without unpacking it: paths, libraries, small texts, digests."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import IO, BinaryIO

from envbuilder.core.archives.tar_reader import FILE, SYMLINK, TarEntry, TarReader
from envbuilder.core.elf_segments import MAGIC
from envbuilder.core.image_layout import LIBRARIES, LOCK_FILE, PYTHON, VENV
from envbuilder.core.json_fields import parsed, record, records, text
from envbuilder.image.contents import ImageContent, LibraryFile
from envbuilder.oci.layout.layer_compression import unpacked

_COMPARED = re.compile(
    rf".*/site-packages/.*|{LIBRARIES}/lib(?:cu|nv)[^/]*|(?!usr/(?!local/)|lib|bin/|sbin/|var/|{PYTHON}/).*"
)
"""Files whose digests are recorded: those of distributions and NVIDIA's libraries, and the places of own files."""

_TEXTS = re.compile(
    rf"{re.escape(LOCK_FILE)}|etc/ld\.so\.conf|etc/ld\.so\.conf\.d/[^/]+|"
    rf".*/site-packages/[^/]+\.dist-info/(METADATA|RECORD)|{VENV}/pyvenv\.cfg|var/lib/dpkg/info/[^/]+\.list"
)
_LARGEST_TEXT = 1 << 25
_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
_AT_ONCE = 2
_BY_PATH = ("libraries", "texts", "digests", "privileged")
"""Attributes of files, by path."""

_CAPABILITIES = "SCHILY.xattr.security.capability"
_ASSEMBLED = "envbuilder: "
"""Marker of assembled layers in the history of an image."""


@dataclass(kw_only=True)
class _Layer:
    """The files that one layer adds and removes; see `ImageContent` for the fields."""

    paths: dict[str, str] = field(default_factory=dict)
    libraries: dict[str, LibraryFile] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    privileged: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    gone: list[str] = field(default_factory=list)
    emptied: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    diff_id: str = ""

    def removed(self) -> Iterator[str]:
        """Yield the paths that whiteouts remove."""
        yield from self.gone
        yield from (f"{folder}/*".lstrip("/") for folder in self.emptied)


def survey(
    layers: Sequence[Callable[[Path], None]],
    config: Mapping[str, object],
    manifest: str,
    read_library: Callable[[str, BinaryIO], LibraryFile],
    work: Path,
) -> ImageContent:
    """Return the content of an image.

    Args:
        layers: Each writes one layer's blob into a file; lowest first.
        config: The image's configuration.
        manifest: Digest of its manifest; empty if there is none.
        read_library: Reads an ELF file.
        work: Directory for layers and libraries while they are read.

    Raises:
        VerificationFailed: A layer is damaged.
    """

    def look(number: int) -> _Layer:
        blob = work / f"layer-{number}"
        layers[number](blob)
        try:
            return _Look(read_library).at(blob)
        finally:
            blob.unlink(missing_ok=True)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = list(pool.map(look, range(len(layers))))
    whole = _Layer()
    for layer in found:
        _lay(whole, layer)
    return replace(
        _described(config, manifest),
        diff_ids=tuple(layer.diff_id for layer in found),
        paths=whole.paths,
        libraries=tuple(whole.libraries[path] for path in sorted(whole.libraries)),
        texts=whole.texts,
        digests=whole.digests,
        privileged=whole.privileged,
        removed=tuple(path for layer in found[len(found) - _assembled(config) :] for path in layer.removed()),
    )


class _Look:
    """A pass over one layer."""

    def __init__(self, read_library: Callable[[str, BinaryIO], LibraryFile]) -> None:
        self.layer = _Layer()
        self._read_library = read_library

    def at(self, blob: Path) -> _Layer:
        """Return the content of a blob."""
        with unpacked(blob) as stream:
            tar = TarReader(stream, blob.name)
            for entry in tar.entries():
                self._note(entry, tar)
            self.layer.diff_id = stream.diff_id()
        return self.layer

    def _note(self, entry: TarEntry, tar: TarReader) -> None:
        path = entry.path
        above, _, name = path.rpartition("/")
        if name == _OPAQUE:
            self.layer.emptied.append(above)
        elif name.startswith(_WHITEOUT):
            self.layer.gone.append(f"{above}/{name.removeprefix(_WHITEOUT)}".lstrip("/"))
        elif entry.link_to:
            self.layer.links.append((path, entry.link_to))
        elif entry.flag == SYMLINK:
            self.layer.paths[path] = entry.target
        elif entry.flag == FILE:
            self.layer.paths[path] = ""
            if rights := _rights(entry):
                self.layer.privileged[path] = rights
            self._read(path, entry.size, tar.content())

    def _read(self, path: str, size: int, pieces: Iterator[bytes]) -> None:
        first = next(pieces, b"")
        text = bytearray() if size <= _LARGEST_TEXT and _TEXTS.fullmatch(path) else None
        digest = hashlib.sha256() if _COMPARED.fullmatch(path) else None
        if first.startswith(MAGIC):
            with tempfile.TemporaryFile() as library:
                _pour(chain((first,), pieces), text, digest, library)
                library.seek(0)
                self.layer.libraries[path] = self._read_library(path, library)
        elif text is not None or digest is not None:
            _pour(chain((first,), pieces), text, digest, None)
        if text is not None:
            self.layer.texts[path] = bytes(text)
        if digest is not None:
            self.layer.digests[path] = digest.hexdigest()


def _pour(
    pieces: Iterable[bytes], text: bytearray | None, digest: hashlib._Hash | None, copy: IO[bytes] | None
) -> None:
    for piece in pieces:
        if text is not None:
            text += piece
        if digest is not None:
            digest.update(piece)
        if copy is not None:
            copy.write(piece)


def _rights(entry: TarEntry) -> str:
    if entry.mode & 0o4000:
        return "set-user-ID"
    if entry.mode & 0o2000:
        return "set-group-ID"
    return "capabilities" if any(name == _CAPABILITIES for name, _ in entry.xattrs) else ""


def _lay(whole: _Layer, layer: _Layer) -> None:
    """Merge a layer with those below."""
    for path in layer.gone:
        _take_away(whole, path, itself=True)
    for path in layer.emptied:
        _take_away(whole, path, itself=False)
    brought = (*layer.paths, *(path for path, _ in layer.links))
    for path in brought:
        if path in whole.folders:
            _take_away(whole, path, itself=False)
        _forget(whole, path)
    whole.paths.update(layer.paths)
    for name in _BY_PATH:
        getattr(whole, name).update(getattr(layer, name))
    for path, first in layer.links:
        _link(whole, path, first)
    for path in brought:
        _add_folders(whole.folders, path.rpartition("/")[0])


def _add_folders(known: set[str], folder: str) -> None:
    while folder and folder not in known:
        known.add(folder)
        folder = folder.rpartition("/")[0]


def _link(whole: _Layer, path: str, first: str) -> None:
    """Add a hard link."""
    whole.paths[path] = whole.paths.get(first, "")
    for name in _BY_PATH:
        known = getattr(whole, name)
        if first in known:
            known[path] = known[first]
    if first in whole.libraries:
        whole.libraries[path] = replace(whole.libraries[first], path=path)


def _take_away(whole: _Layer, path: str, *, itself: bool) -> None:
    for each in [each for each in whole.paths if each.startswith(f"{path}/") or (itself and each == path)]:
        _forget(whole, each)


def _forget(whole: _Layer, path: str) -> None:
    whole.paths.pop(path, None)
    for name in _BY_PATH:
        getattr(whole, name).pop(path, None)


def _described(config: Mapping[str, object], manifest: str) -> ImageContent:
    inner = record(config, "config")
    env = inner.get("Env")
    pairs = [str(each).partition("=") for each in env] if isinstance(env, list) else []
    return ImageContent(
        manifest=manifest,
        diff_ids=(),
        assembled=_assembled(config) > 0,
        labels={name: str(value) for name, value in record(inner, "Labels").items()},
        env={name: value for name, _, value in pairs},
        user=str(inner.get("User") or ""),
        folder=str(inner.get("WorkingDir") or ""),
        paths={},
        libraries=(),
    )


def _assembled(config: Mapping[str, object]) -> int:
    """Return the number of assembled layers, which are the upper ones."""
    return sum(text(each, "created_by").startswith(_ASSEMBLED) for each in records(config, "history"))


def config_of(content: bytes) -> Mapping[str, object]:
    """Return the configuration of an image as a mapping; empty if it is not one."""
    return record(parsed(content))

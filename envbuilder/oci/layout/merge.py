"""Merge of an image's layers into one tree: upper layers win, whiteouts remove files of lower layers.

Only the list of paths is held in memory; contents are read later, each layer once, from start to end. In a merged
tree, all parents of a path are directories, so that writing it to a new directory never follows a link.

Source: https://github.com/opencontainers/image-spec/blob/v1.1.0/layer.md
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from envbuilder.core.archives.tar_reader import TarReader
from envbuilder.core.errors import VerificationFailed
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.layout.contents import verified
from envbuilder.oci.layout.layer_compression import unpacked
from envbuilder.oci.store import Store
from envbuilder.oci.tar.headers import encoded
from envbuilder.oci.tar.members import Kind, Member, member_of

_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"
_INTERNAL = ".wh..wh."
_THREADS = 4
_Found: TypeAlias = tuple[Member, str]
"""A member of a layer, and the path of the member that it is a hard link to; empty if it is not one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerFile:
    """A layer to read.

    Attributes:
        id: Its name in errors.
        blob: Its compressed tar.
        diff_id: Digest of its tar.
    """

    id: str
    blob: Path
    diff_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A merged tree, without its root.

    Attributes:
        layers: Layers that contain the files, lowest first.
        folders: Directories, parents first.
        others: Links, pipes and devices, in the order of their paths.
        files: For each layer: for the number of a member in it (from 0), the files with its content; several files are
            hard links to one.
        on_top: Files that are in no layer.
    """

    layers: tuple[LayerFile, ...]
    folders: tuple[Member, ...]
    others: tuple[Member, ...]
    files: tuple[Mapping[int, tuple[Member, ...]], ...]
    on_top: tuple[Member, ...]


@dataclass(slots=True)
class _Node:
    """A path; `children` is None for everything but directories; `source` is layer and number of the member."""

    member: Member
    source: tuple[int, int]
    children: dict[str, _Node] | None


def merged(image: AssembledImage, store: Store, *, on_top: Sequence[Member] = ()) -> Tree:
    """Read all layers of an image, and return the tree of its visible files.

    `on_top` are further files with their content in memory, which take precedence over all layers.

    Raises:
        VerificationFailed: A layer does not match its digest, is not a tar, or has a member that leads out of the tree:
            a path that is absolute, contains `..` or is below a link or a file; a hard link to a missing file; a
            whiteout of `..`.
    """
    layers = tuple(
        LayerFile(id=layer.id, blob=verified(layer.blob, store), diff_id=layer.diff_id) for layer in image.layers
    )
    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as pool:
        scans = list(pool.map(_scan, layers))
    root = _Node(Member(path=".", kind=Kind.FOLDER, mode=0o755, mtime=0), (-1, 0), {})
    for number, found in enumerate(scans):
        _lay(root, found, number, layers[number].id)
    _lay(root, [(member, "") for member in on_top], len(layers), "what is put on top")
    return _tree(root, layers, on_top)


def read(layer: LayerFile, wanted: Mapping[int, tuple[Member, ...]]) -> Iterator[tuple[TarReader, tuple[Member, ...]]]:
    """Read a layer again; yield the visible files, each when its content is the next to be read."""
    if not wanted:
        return
    with unpacked(layer.blob) as stream:
        tar = TarReader(stream, _subject(layer.id))
        for number, found in enumerate(tar.entries()):
            names = wanted.get(number)
            if names is None:
                continue
            if found.size != names[0].size:
                raise VerificationFailed(f"{_subject(layer.id)} changed while it was read")
            yield tar, names


def _subject(layer: str) -> str:
    return f"the layer {layer}"


def _scan(layer: LayerFile) -> list[_Found]:
    with unpacked(layer.blob) as stream:
        found = [(member_of(entry), entry.link_to) for entry in TarReader(stream, _subject(layer.id)).entries()]
        diff_id = stream.diff_id()
    if diff_id != layer.diff_id:
        raise VerificationFailed(f"{_subject(layer.id)} unpacks to {diff_id}, not to {layer.diff_id}")
    return found


def _lay(root: _Node, found: Sequence[_Found], layer: int, name: str) -> None:
    """Put a layer on top; apply its whiteouts first, since they affect lower layers only."""
    subject = _subject(name)
    for member, _ in found:
        if _is_whiteout(member.path):
            _take_away(root, member.path, subject)
    for number, item in enumerate(found):
        if not _is_whiteout(item[0].path):
            _place(root, item, (layer, number), subject)


def _is_whiteout(path: str) -> bool:
    return path.rpartition("/")[2].startswith(_WHITEOUT)


def _take_away(root: _Node, path: str, subject: str) -> None:
    parent, _, name = path.rpartition("/")
    folder = _find(root, parent)
    hidden = name.removeprefix(_WHITEOUT)
    if name != _OPAQUE and hidden in {"", ".", ".."}:
        raise VerificationFailed(f"{subject} contains the whiteout {path!r}, which is outside the image")
    if folder is None or folder.children is None:
        return
    if name == _OPAQUE:
        folder.children.clear()
    elif not name.startswith(_INTERNAL):
        folder.children.pop(hidden, None)


def _find(root: _Node, path: str) -> _Node | None:
    node: _Node | None = root
    for part in path.split("/") if path else ():
        node = node.children.get(part) if node is not None and node.children is not None else None
    return node


def _place(root: _Node, item: _Found, source: tuple[int, int], subject: str) -> None:
    member, link_to = item
    if link_to:
        first = _find(root, link_to)
        if first is None or first.children is not None:
            raise VerificationFailed(f"{subject} holds a link {member.path!r} to {link_to!r}, which is not a file")
        member, source = replace(first.member, path=member.path), first.source
    if member.path == ".":
        if member.kind is not Kind.FOLDER:
            raise VerificationFailed(f"{subject} replaces the root directory by something else")
        root.member = member
        return
    siblings, name = _parent(root, member.path, subject)
    known = siblings.get(name)
    if member.kind is not Kind.FOLDER:
        siblings[name] = _Node(member, source, None)
    elif known is not None and known.children is not None:
        known.member = member
    else:
        siblings[name] = _Node(member, source, {})


def _parent(root: _Node, path: str, subject: str) -> tuple[dict[str, _Node], str]:
    """Return the children of a path's parent; create directories that no layer lists."""
    *parents, name = path.split("/")
    node = root
    for depth, part in enumerate(parents, 1):
        children = _children(node, path, subject)
        if part not in children:
            implied = Member(path="/".join(parents[:depth]), kind=Kind.FOLDER, mode=0o755, mtime=0)
            children[part] = _Node(implied, (-1, 0), {})
        node = children[part]
    return _children(node, path, subject), name


def _children(node: _Node, path: str, subject: str) -> dict[str, _Node]:
    if node.children is None:
        raise VerificationFailed(f"{subject} holds {path!r}, but {node.member.path!r} is a link or a file")
    return node.children


def _tree(root: _Node, layers: tuple[LayerFile, ...], on_top: Sequence[Member]) -> Tree:
    folders, others = list[Member](), list[Member]()
    files: list[dict[int, list[Member]]] = [defaultdict(list) for _ in range(len(layers) + 1)]
    for node in _walk(root):
        if node.member.kind is Kind.FOLDER:
            folders.append(node.member)
        elif node.member.kind is Kind.FILE:
            files[node.source[0]][node.source[1]].append(node.member)
        else:
            others.append(node.member)
    return Tree(
        layers=layers,
        folders=tuple(folders),
        others=tuple(others),
        files=tuple({number: tuple(names) for number, names in layer.items()} for layer in files[:-1]),
        on_top=tuple(on_top[number] for number in sorted(files[-1])),
    )


def _walk(root: _Node) -> Iterator[_Node]:
    """Yield all nodes below the root in the order of their names, parents first."""
    pending = [root]
    while pending:
        node = pending.pop()
        if node is not root:
            yield node
        children = node.children or {}
        pending += [children[name] for name in sorted(children, key=encoded, reverse=True)]

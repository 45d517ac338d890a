"""Differences between two layers, path by path."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from envbuilder.oci.layout.layer_compression import unpacked
from envbuilder.oci.layout.layer_tar import LayerTar

_NUMBERS = ("mode", "uid", "gid", "mtime", "size")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Properties of one path in a layer.

    Attributes:
        kind: Type flag, or `link` for a hard link.
        mode: Permission bits.
        uid: Owner.
        gid: Group.
        mtime: Seconds since 1970.
        size: Bytes.
        target: Target of a link.
        sha256: Of the content; empty for members without content.
    """

    kind: str
    mode: int
    uid: int
    gid: int
    mtime: int
    size: int
    target: str
    sha256: str


def compare_layers(expected: Path, found: Path) -> Iterator[tuple[str, str]]:
    """Yield the paths that differ between two layers, sorted, each with the difference.

    Args:
        expected: The expected blob.
        found: The actual blob.

    Raises:
        VerificationFailed: One of them cannot be read.
    """
    wanted, there = _marks(expected), _marks(found)
    for path in sorted(wanted.keys() | there.keys()):
        if path not in there:
            yield path, "is missing"
        elif path not in wanted:
            yield path, "is not expected"
        elif wanted[path] != there[path]:
            yield path, _difference(wanted[path], there[path])


def _marks(blob: Path) -> dict[str, Mark]:
    found = {}
    with unpacked(blob) as stream:
        tar = LayerTar(stream, blob.name)
        for each in tar.members():
            member = each.member
            digest = hashlib.sha256()
            for piece in tar.content():
                digest.update(piece)
            found[member.path] = Mark(
                kind="link" if each.link_to else member.kind.name.lower(),
                mode=member.mode,
                uid=member.uid,
                gid=member.gid,
                mtime=member.mtime,
                size=member.size,
                target=each.link_to or member.target,
                sha256=digest.hexdigest() if member.size and not each.link_to else "",
            )
    return found


def _difference(wanted: Mark, there: Mark) -> str:
    if wanted.kind != there.kind:
        return f"is a {there.kind} instead of a {wanted.kind}"
    if wanted.target != there.target:
        return f"points to {there.target} instead of {wanted.target}"
    if wanted.sha256 != there.sha256:
        return "has another content"
    changed = [name for name in _NUMBERS if getattr(wanted, name) != getattr(there, name)]
    return ", ".join(f"{name} {getattr(there, name)} instead of {getattr(wanted, name)}" for name in changed)

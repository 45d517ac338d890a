"""The content of an image, read from its layers without running anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from envbuilder.lock.lock import Lock


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryFile:
    """A shared library, or a program, in an image.

    Attributes:
        path: Relative path in the image.
        needed: Names of the libraries that it requires, in file order.
        search: Directories of its RUNPATH or RPATH, in file order, with `$ORIGIN`.
        damage: Reason why it cannot be read; empty if it can.
    """

    path: str
    needed: tuple[str, ...] = ()
    search: tuple[str, ...] = ()
    damage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageContent:
    """The content of an image.

    Attributes:
        manifest: Digest of its manifest; empty if the engine keeps none.
        diff_ids: Digest of each layer's tar, lowest first.
        assembled: True if its metadata says that it was assembled, so that its layers depend on its lock alone.
        paths: Every path, relative, without directories, with the target of a symbolic link, else empty.
        libraries: Every ELF file, sorted by path.
        texts: Small files that checks read, by relative path: the lock, metadata of distributions, loader settings,
            lists of OS packages, settings of the virtual environment.
        privileged: Programs that run with the rights of another user, each with `set-user-ID`, `set-group-ID` or
            `capabilities`.
        removed: Paths that whiteouts remove in assembled layers, in their order.
        digests: sha256 (64 hexadecimal digits) of files that checks compare, by relative path.
    """

    manifest: str
    diff_ids: tuple[str, ...]
    assembled: bool
    labels: Mapping[str, str]
    env: Mapping[str, str]
    user: str
    folder: str
    paths: Mapping[str, str]
    libraries: tuple[LibraryFile, ...]
    texts: Mapping[str, bytes] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    privileged: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentExpectation:
    """The required content of an image.

    Attributes:
        lock_text: Canonical text of the pins, which is in the image.
        labels: As in the plan.
        env: As in the plan.
        lock_is_inside: True if the lock was read from the image, where it cannot contain the image's own digest.
    """

    lock: Lock
    lock_text: bytes
    labels: tuple[tuple[str, str], ...]
    env: tuple[tuple[str, str], ...]
    lock_is_inside: bool = False

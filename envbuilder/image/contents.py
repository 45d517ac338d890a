"""What an image holds, as its layers say it; nothing of it was run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from envbuilder.lock.lock import Lock


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryFile:
    """A shared library, or a program, in an image.

    Attributes:
        path: Relative path in the image.
        needed: Names of the libraries that it asks for, in file order.
        search: Folders of its RUNPATH or RPATH, in file order, with `$ORIGIN`.
        damage: Why it cannot be read; empty when it can.
    """

    path: str
    needed: tuple[str, ...] = ()
    search: tuple[str, ...] = ()
    damage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageContent:
    """An image, looked into without running it.

    Attributes:
        manifest: Digest of its manifest; empty where an engine keeps none.
        diff_ids: Digest of each layer's tar, lowest first.
        assembled: Whether it says that it was assembled, so that its layers are a function of its lock.
        labels: Its labels.
        env: Its environment variables.
        user: Account that it runs as.
        folder: Working directory.
        paths: Every path, relative, without folders; of a symbolic link where it points, else empty.
        libraries: Every ELF file, sorted by path.
        texts: Small files that checks read, by relative path: the lock, metadata of distributions, loader settings,
            lists of OS packages, settings of the virtual environment.
        privileged: Programs with the rights of another account, each with `set-user-ID`, `set-group-ID` or
            `capabilities`.
        removed: Paths that whiteouts remove in layers that were assembled, in their order.
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
    """What the content of an image must be.

    Attributes:
        lock: All pins.
        lock_text: Canonical text of the pins, which is in the image.
        labels: As the plan says.
        env: As the plan says.
        lock_is_inside: Whether the lock was read from the image, where it cannot name the image itself.
    """

    lock: Lock
    lock_text: bytes
    labels: tuple[tuple[str, str], ...]
    env: tuple[tuple[str, str], ...]
    lock_is_inside: bool = False

"""Names of archive members, as paths below one directory."""

from __future__ import annotations

from envbuilder.core.errors import VerificationFailed

LONGEST_PATH = 3500
"""Bytes; the limit of Linux is 4096, including the parent directory."""

LONGEST_PART = 255
"""Bytes; the limit of ext4, XFS, Btrfs, tmpfs and overlayfs."""

DEEPEST = 256
"""Parts of a path; functions that walk a tree, also in the standard library, may recurse for each."""


class BadArchive(VerificationFailed):
    """An archive is damaged, breaks a limit, or has a member that must not be extracted."""


def relative_path(name: str) -> str:
    """Return the name of a member as a path below a directory, without `./` and double slashes.

    Returns:
        The path; `.` for the directory itself.

    Raises:
        BadArchive: The name is empty, absolute, too long or too deep, or contains `..` or NUL.
    """
    parts = [part for part in name.split("/") if part not in {"", "."}]
    if not name:
        raise BadArchive("a member has no name")
    if name.startswith("/") or ".." in parts or "\0" in name:
        raise BadArchive(f"the path {name[:300]!r} leads outside")
    # Most names are short and need not be encoded.
    if len(name) * 4 > LONGEST_PART:
        _require_short(name, parts)
    return "/".join(parts) or "."


def _require_short(name: str, parts: list[str]) -> None:
    problem = ""
    if any(len(_encoded(part)) > LONGEST_PART for part in parts):
        problem = f"has a part longer than {LONGEST_PART} bytes"
    elif len(_encoded(name)) > LONGEST_PATH:
        problem = f"is longer than {LONGEST_PATH} bytes"
    elif len(parts) > DEEPEST:
        problem = f"is deeper than {DEEPEST} directories"
    if problem:
        raise BadArchive(f"the path {name[:80]!r}… {problem}")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def link_target(target: str) -> str:
    """Return the target of a symbolic link unchanged.

    Raises:
        BadArchive: It is empty, contains NUL, or is longer than Linux allows.
    """
    if not target or "\0" in target or len(_encoded(target)) > LONGEST_PATH:
        raise BadArchive(f"a symbolic link to {target[:80]!r} is not possible")
    return target


def link_below(path: str, target: str) -> str:
    """Return the target of a symbolic link in an image's tree so that it stays inside, wherever the tree is.

    An absolute target is relative to the root of the tree, and `..` at the root is the root, as in a container.

    Args:
        path: Relative path of the link; no directory above it may be a symbolic link.
        target: The target in the image.

    Returns:
        A relative target with `..` only at its beginning. Since every link of the tree is of this form and below real
        directories, a path through any number of them stays inside.
    """
    parts = path.split("/")[:-1]
    above = [] if target.startswith("/") else list(parts)
    for part in target.split("/"):
        if part == "..":
            del above[-1:]
        elif part not in {"", "."}:
            above.append(part)
    shared = 0
    while shared < min(len(above), len(parts)) and above[shared] == parts[shared]:
        shared += 1
    return "/".join([".."] * (len(parts) - shared) + above[shared:]) or "."

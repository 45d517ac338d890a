"""Parser of image paths in YAML files."""

from __future__ import annotations

import posixpath

from envbuilder.core.image_paths import impossible, is_ours

_ACCOUNTS = frozenset({"/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow"})
_OF_THE_SYSTEM = frozenset(
    {"bin", "boot", "dev", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys", "tmp", "usr", "var"}
)
"""Top-level directories that belong to the base, or that are hidden in a running container."""


def image_path(text: str) -> str:
    """Return the path of an own file in an image, unchanged.

    Raises:
        ValueError: It is not an absolute path in its shortest form, is not possible in a layer, or is in a directory of
            the base or envbuilder.
    """
    if not text.startswith("/") or posixpath.normpath(text) != text or text.startswith("//") or text == "/":
        raise ValueError(f"{text!r} is not an absolute path in the image")
    if not text.isprintable() or text != text.strip():
        raise ValueError(f"{text!r} has characters that a path in an image must not have")
    if reason := impossible(text[1:]):
        raise ValueError(f"{text!r} cannot be in an image: {reason}")
    if text in _ACCOUNTS:
        raise ValueError(f"{text!r} contains the users of the image; set the user with `user:`")
    if text.split("/")[1] in _OF_THE_SYSTEM and not text.startswith("/usr/local/"):
        raise ValueError(f"{text!r} is in a directory of the base; use /workspace, /app, /usr/local or another")
    if is_ours(text[1:]):
        raise ValueError(f"{text!r} is in a directory that envbuilder writes; use /workspace, /app or another")
    return text

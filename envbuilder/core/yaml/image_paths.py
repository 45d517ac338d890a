"""Paths in an image, as people write them."""

from __future__ import annotations

import posixpath

from envbuilder.core.image_paths import impossible, is_ours

_ACCOUNTS = frozenset({"/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow"})
_OF_THE_SYSTEM = frozenset(
    {"bin", "boot", "dev", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys", "tmp", "usr", "var"}
)
"""Folders at the top that belong to the base, or that are hidden when a container runs."""


def image_path(text: str) -> str:
    """Where an own file lies in an image, unchanged.

    Raises:
        ValueError: It is not an absolute path in its shortest form, no layer can hold it, or it lies where the base or
            envbuilder has its files.
    """
    if not text.startswith("/") or posixpath.normpath(text) != text or text.startswith("//") or text == "/":
        raise ValueError(f"{text!r} is not an absolute path in the image")
    if not text.isprintable() or text != text.strip():
        raise ValueError(f"{text!r} has characters that a path in an image must not have")
    if reason := impossible(text[1:]):
        raise ValueError(f"{text!r} cannot be in an image: {reason}")
    if text in _ACCOUNTS:
        raise ValueError(f"{text!r} holds the accounts of the image; set the account with `user:`")
    if text.split("/")[1] in _OF_THE_SYSTEM and not text.startswith("/usr/local/"):
        raise ValueError(f"{text!r} lies in a folder of the base; take /workspace, /app, /usr/local or another")
    if is_ours(text[1:]):
        raise ValueError(f"{text!r} lies in a folder that envbuilder fills; take /workspace, /app or another")
    return text

"""Paths in an image that packages and own files must not contain.

The rules are the same for all sources of files: wheels and Debian packages when a layer is made, `files:` and `allow:`
when a spec or a lock is read, and a finished image in `validate --tier static`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Annotated, TypeAlias

from envbuilder.core.field_rules import Parsed
from envbuilder.core.image_layout import OURS, PYTHON, VENV
from envbuilder.core.memory_policy import START_NAME

WHITEOUT = ".wh."
"""Prefix of names that remove a file of a lower layer. Source:
https://github.com/opencontainers/image-spec/blob/v1.1.0/layer.md#whiteouts"""

MERGED = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
"""Root directories that are links into `/usr` in Debian since bookworm, and in the Debian bases of envbuilder.

Source: https://wiki.debian.org/UsrMerge.
"""

_SYSTEM_PATH = re.compile(r"/[A-Za-z0-9][A-Za-z0-9._+@-]*(?:/[A-Za-z0-9._+@-]+)+")
"""Characters of file names of OS packages, without the wildcards of shells."""

_OURS = tuple(f"{each}/" for each in (VENV, PYTHON, OURS))
_LONGEST_NAME = 255
_LONGEST_PATH = 4095
"""Bytes. Source: NAME_MAX, and PATH_MAX without its NUL, of Linux (include/uapi/linux/limits.h)."""

_ENVIRONMENT = re.compile(
    rf"{VENV}(?:/(?:bin|include|lib|lib/python[0-9.]+|lib/python[0-9.]+/site-packages))?"
    rf"|{VENV}/(?:pyvenv\.cfg|lib64|bin/activate|bin/pythonw?[0-9.]*)(?:/.*)?"
    rf"|.*/site-packages/{re.escape(START_NAME)}(?:/.*)?|(?:{PYTHON}|{OURS})(?:/.*)?"
)
_CODE = re.compile(rf".*(?:\.py|\.so(?:\.[0-9.]+)?)|{VENV}/bin/[^/]+")
_SHARED = re.compile(r".*/site-packages/(?:tests?|docs?|examples?|benchmarks?)/.*")
"""Top-level directories of `site-packages` that several distributions install by mistake and no program imports."""

_PROGRAM = re.compile(
    rf"(?:{VENV}/bin|usr/local/s?bin)/("
    r"apt|apt-get|awk|basename|bash|cat|chmod|chown|cp|cut|date|dash|dd|df|dirname|dpkg|echo|env|expr|"
    r"false|find|getent|grep|gunzip|gzip|head|id|kill|ldconfig|ldd|ln|login|ls|mkdir|mktemp|mount|mv|nice|"
    r"nohup|nvidia-smi|passwd|printf|ps|pwd|readlink|realpath|rm|rmdir|sed|sh|sleep|sort|stat|su|sudo|tail|"
    r"tar|tee|test|timeout|touch|tr|true|umount|uname|uniq|wc|which|xargs"
    r")"
)
"""Files that hide a program of the base or the driver that scripts start by name: their directories are first in PATH.

Source: the programs of Debian's essential packages that shell scripts use, apt, and nvidia-smi (2026-11-22).
"""


def impossible(path: str) -> str:
    """Return the reason why a relative path is not possible in an image; empty if it is possible.

    Example:
        >>> impossible("usr/bin/.wh.python3")
        "a name that begins with '.wh.' removes a file of a lower layer"
    """
    if f"/{WHITEOUT}" in f"/{path}":
        return f"a name that begins with {WHITEOUT!r} removes a file of a lower layer"
    if len(path) * 4 <= _LONGEST_NAME:
        return ""
    encoded = path.encode("utf-8", "surrogateescape")
    if any(len(part) > _LONGEST_NAME for part in encoded.split(b"/")):
        return f"a name is longer than {_LONGEST_NAME} bytes"
    return f"it is longer than {_LONGEST_PATH} bytes" if len(encoded) > _LONGEST_PATH else ""


def is_ours(path: str) -> bool:
    """Return True if a relative path is in a directory of envbuilder."""
    return path.startswith(_OURS) or f"{path}/" in _OURS


def is_of_environment(path: str) -> bool:
    """Return True if a relative path is part of the interpreter, the virtual environment, or envbuilder.

    Example:
        >>> is_of_environment("opt/venv/bin/python3.8"), is_of_environment("opt/venv/bin/ipython3")
        (True, False)
    """
    return _ENVIRONMENT.fullmatch(path) is not None


def is_code(path: str) -> bool:
    """Return True if a program imports, loads or starts a file of the virtual environment by its path.

    Example:
        >>> is_code("opt/venv/lib/python3.8/site-packages/numpy/core.py")
        True
    """
    return _CODE.fullmatch(path) is not None and _SHARED.fullmatch(path) is None


def shadowed(path: str) -> str:
    """Return the program of the base that a file hides because its directory is first in PATH; empty for none.

    Example:
        >>> shadowed("opt/venv/bin/env"), shadowed("opt/venv/bin/pip")
        ('env', '')
    """
    found = _PROGRAM.fullmatch(path)
    return found[1] if found else ""


def merged(path: str) -> str:
    """Return a relative path with `/bin`, `/lib` and the like replaced by the directories below `/usr`.

    Example:
        >>> merged("bin/su"), merged("usr/bin/su"), merged("etc/x")
        ('usr/bin/su', 'usr/bin/su', 'etc/x')
    """
    top, slash, _ = path.partition("/")
    return f"usr/{path}" if slash and top in MERGED else path


def privileged_allowed(allow: Iterable[str]) -> frozenset[str]:
    """Return the relative paths of system programs that may keep set-user-ID and set-group-ID bits.

    Args:
        allow: Paths of a spec or a lock; those below the virtual environment are ignored.

    Example:
        >>> privileged_allowed(["/bin/su", "/opt/venv/bin/env"])
        frozenset({'usr/bin/su'})
    """
    return frozenset(merged(path[1:]) for path in allow if not path.startswith(f"/{VENV}/"))


def allowable(text: str) -> str:
    """Return a path that a spec may allow packages to install, unchanged.

    Raises:
        ValueError: It is neither a file of the virtual environment nor a program of the system, or it is one that must
            never be replaced.

    Example:
        >>> allowable("/opt/venv/bin/env"), allowable("/usr/bin/sudo")
        ('/opt/venv/bin/env', '/usr/bin/sudo')
    """
    parts = text.split("/")[1:]
    if not text.startswith("/") or any(part in {"", ".", ".."} for part in parts) or not text.isprintable():
        raise ValueError(f"{text!r} is not the absolute path of a file")
    if reason := impossible(text[1:]):
        raise ValueError(f"{text!r} cannot be allowed: {reason}")
    if is_of_environment(text[1:]):
        raise ValueError(f"{text!r} cannot be allowed: it is part of the interpreter or of its environment")
    if not text.startswith(f"/{VENV}/") and (shadowed(text[1:]) or not _SYSTEM_PATH.fullmatch(text)):
        raise ValueError(f"{text!r} is neither a file below /{VENV} nor a program of an OS package")
    return text


_ACCOUNTS = frozenset({"/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow"})
_OF_THE_SYSTEM = frozenset(
    {"bin", "boot", "dev", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys", "tmp", "usr", "var"}
)
"""Top-level directories that belong to the base, or that are hidden in a running container."""


def absolute_path(text: str) -> str:
    """Return the path of any file in an image, unchanged.

    Raises:
        ValueError: It is not an absolute path in its shortest form, or is not possible in a layer.
    """
    if not text.startswith("/") or posixpath.normpath(text) != text or text.startswith("//") or text == "/":
        raise ValueError(f"{text!r} is not an absolute path in the image")
    if not text.isprintable() or text != text.strip():
        raise ValueError(f"{text!r} has characters that a path in an image must not have")
    if reason := impossible(text[1:]):
        raise ValueError(f"{text!r} cannot be in an image: {reason}")
    return text


def image_path(text: str) -> str:
    """Return the path of an own file in an image, unchanged.

    Raises:
        ValueError: It is not an absolute path in its shortest form, is not possible in a layer, or is in a directory of
            the base or envbuilder.
    """
    absolute_path(text)
    if text in _ACCOUNTS:
        raise ValueError(f"{text!r} contains the users of the image; set the user with `user:`")
    if text.split("/")[1] in _OF_THE_SYSTEM and not text.startswith("/usr/local/"):
        raise ValueError(f"{text!r} is in a directory of the base; use /workspace, /app, /usr/local or another")
    if is_ours(text[1:]):
        raise ValueError(f"{text!r} is in a directory that envbuilder writes; use /workspace, /app or another")
    return text


AllowedPath: TypeAlias = Annotated[str, Parsed(allowable)]
ImagePath: TypeAlias = Annotated[str, Parsed(image_path)]


def parents(path: str) -> Iterator[str]:
    """Yield the directories above a path, the nearest first."""
    while path := path.rpartition("/")[0]:
        yield path

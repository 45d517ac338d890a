"""Grammar of the names in specs and locks, none of which can be a path, an option of a program, or code."""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version

from envbuilder.core.references import normalized
from envbuilder.core.versions import Release

LARGEST_ID = 2**31 - 2
"""Largest user id; larger ones have a special meaning (-1) or are negative for some programs."""

LARGEST_FILE = 2**40
"""Bytes of the largest file that a lock may name: 1 TiB."""

LATEST_TIME = 2**33 - 1
"""Maximum of seconds since 1970 in octal digits of a tar header (year 2242)."""

_LONGEST = 255
_ID = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*")
_LONGEST_ID = 100
_PYTHON = re.compile(r"3\.[0-9]{1,2}(\.[0-9]{1,3})?")
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*")
_ACCOUNT = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET = re.compile(r"(?i)(password|passwd|secret|token|api_?key|credential)")
_MEMBER_PART = re.compile(r"[A-Za-z0-9_.+~][A-Za-z0-9_.+~-]*")
_ADDRESS = re.compile(r"https://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9_.~%+/-]*)?")
_LIBRARY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_DEBIAN_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")
_DEBIAN_SUITE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_DEBIAN_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+~:-]*")
_DEBIAN_PART = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.+~:-]|%3[Aa])*")
_TAGS = r"[A-Za-z0-9_.]+-[A-Za-z0-9_.]+-[A-Za-z0-9_.]+"
_WHEEL = re.compile(rf"(?P<name>[A-Za-z0-9_.]+)-(?P<version>[A-Za-z0-9_.!+]+)(-[0-9][A-Za-z0-9_.]*)?-{_TAGS}\.whl")
_SOURCES = re.compile(r"(?P<stem>[A-Za-z0-9][A-Za-z0-9_.!+-]*)\.(tar\.gz|tgz|tar\.bz2|tar\.xz|zip)")
_SEPARATORS = re.compile(r"[-_.]+")


def row_id(text: str) -> str:
    """Return the id of an environment or a base, unchanged; it is also one part of the name of an image.

    Raises:
        ValueError: It is invalid.
    """
    if len(text) > _LONGEST_ID or not _ID.fullmatch(text):
        raise ValueError(
            f"{shown(text)} is not an id: lower-case letters and digits, with '.', '_' or '-' between, "
            f"at most {_LONGEST_ID}"
        )
    return text


def layer_id(text: str) -> str:
    """Return the id of a layer, such as `cuda.nvidia-cudnn-cu11`, unchanged.

    Raises:
        ValueError: It is invalid.
    """
    if len(text) > _LONGEST or not _ID.fullmatch(text):
        raise ValueError(f"{shown(text)} is not the id of a layer")
    return text


def media_type(text: str) -> str:
    """Return a media type, unchanged.

    Raises:
        ValueError: It is invalid.

    Source: https://www.rfc-editor.org/rfc/rfc6838#section-4.2
    """
    if len(text) > _LONGEST or not _MEDIA_TYPE.fullmatch(text):
        raise ValueError(f"{shown(text)} is not a media type")
    return text


def python_version(text: str) -> Release:
    """Return the version of an interpreter, such as `3.8` or `3.8.18`.

    Raises:
        ValueError: It is not a version of Python 3.
    """
    if not _PYTHON.fullmatch(text):
        raise ValueError(f"{shown(text)} is not a version of Python 3, such as 3.8 or 3.8.18")
    return Release(text)


def file_name(text: str) -> str:
    """Return the name of a file, unchanged: one part of a path that no program interprets as an option.

    Raises:
        ValueError: It is invalid.

    Example:
        >>> file_name("cpython-3.8.18-x86_64-linux-gnu.tar.gz")
        'cpython-3.8.18-x86_64-linux-gnu.tar.gz'
    """
    wrong = not text or text[0] in "-." or text != text.strip() or not text.isprintable() or set(text) & set("/\\")
    if wrong or len(text.encode()) > _LONGEST:
        raise ValueError(f"{shown(text)} is not the name of a file")
    return text


def archive_member(text: str) -> str:
    """Return the relative path of a file in an archive or below an address, unchanged.

    Raises:
        ValueError: It is invalid, or leads out.

    Example:
        >>> archive_member("cuda/lib64/libcudnn.so.7")
        'cuda/lib64/libcudnn.so.7'
    """
    parts = text.split("/")
    if len(text) > 1024 or set(parts) & {".", ".."} or not all(map(_MEMBER_PART.fullmatch, parts)):
        raise ValueError(f"{shown(text)} is not a relative path, such as cuda/lib64/libcudnn.so.7")
    return text


def https_address(text: str) -> str:
    """Return an `https://` address, unchanged.

    Raises:
        ValueError: It is something else, or has credentials, a query or a fragment.

    Example:
        >>> https_address("https://example.org/files/")
        'https://example.org/files/'
    """
    if not _ADDRESS.fullmatch(text):
        raise ValueError(f"{shown(text)} is not an https:// address without credentials, query and fragment")
    return text


def distribution_version(text: str) -> str:
    """Return the version of a Python distribution, unchanged.

    Raises:
        ValueError: It is invalid by PEP 440.
    """
    try:
        Version(text)
    except InvalidVersion:
        raise ValueError(f"{shown(text)} is not a version") from None
    if text != text.strip():
        raise ValueError(f"{shown(text)} is not a version")
    return text


def distribution_file(text: str) -> str:
    """Return the file name of a wheel or a source distribution, unchanged.

    Raises:
        ValueError: It is neither.

    Source: https://packaging.python.org/en/latest/specifications/ (binary and source distribution formats); older
    source distributions have names that are not escaped and other suffixes.
    """
    if len(text) > _LONGEST or not (_WHEEL.fullmatch(text) or _SOURCES.fullmatch(text)):
        raise ValueError(f"{shown(text)} is not the name of a wheel or of a source distribution")
    return text


def is_file_of(file: str, name: str, version: str) -> bool:
    """Return True if a wheel or a source distribution belongs to this release.

    Args:
        file: Its file name, by `distribution_file`.
        name: Normalized name.
        version: Version by PEP 440. That of a source distribution is not compared, since older ones spell it freely.

    Example:
        >>> is_file_of("Keras_Applications-1.0.8-py3-none-any.whl", "keras-applications", "1.0.8")
        True
        >>> is_file_of("gast-0.2.2.tar.gz", "six", "1.16.0")
        False
    """
    wheel = _WHEEL.fullmatch(file)
    if wheel:
        try:
            return normalized(wheel["name"]) == name and Version(wheel["version"].replace("_", "-")) == Version(version)
        except ValueError:
            return False
    sources = _SOURCES.fullmatch(file)
    return sources is not None and _SEPARATORS.sub("-", sources["stem"]).lower().startswith(f"{name}-")


def debian_name(text: str) -> str:
    """Return the name of a Debian package, unchanged.

    Raises:
        ValueError: It is invalid.

    Source: https://www.debian.org/doc/debian-policy/ch-controlfields.html, section 5.6.1.
    """
    if len(text) > _LONGEST or not _DEBIAN_NAME.fullmatch(text):
        raise ValueError(f"{shown(text)} is not the name of a Debian package")
    return text


def debian_suite(text: str) -> str:
    """Return the name of a Debian suite, unchanged.

    Raises:
        ValueError: It is invalid.
    """
    if len(text) > _LONGEST or not _DEBIAN_SUITE.fullmatch(text):
        raise ValueError(f"{shown(text)} is not the name of a Debian suite")
    return text


def debian_version(text: str) -> str:
    """Return the version of a Debian package, unchanged.

    Raises:
        ValueError: It is invalid.

    Source: https://www.debian.org/doc/debian-policy/ch-controlfields.html, section 5.6.12.
    """
    if len(text) > _LONGEST or not _DEBIAN_VERSION.fullmatch(text):
        raise ValueError(f"{shown(text)} is not the version of a Debian package")
    return text


def debian_file(text: str) -> str:
    """Return the path of a .deb file below the address of a Debian archive, unchanged.

    Raises:
        ValueError: It is invalid, or leads out of the archive.
    """
    parts = text.split("/")
    if len(text) > 1024 or not text.endswith(".deb") or not all(map(_DEBIAN_PART.fullmatch, parts)):
        raise ValueError(f"{shown(text)} is not the path of a .deb file in a Debian archive")
    return text


def library_name(text: str) -> str:
    """Return the file name of a shared library, unchanged.

    Raises:
        ValueError: It is invalid.
    """
    if len(text) > _LONGEST or not _LIBRARY.fullmatch(text):
        raise ValueError(f"{shown(text)} is not the name of a library")
    return text


def account_name(text: str) -> str:
    """Return the name of a user, unchanged.

    Raises:
        ValueError: It is invalid by the rules of useradd, or root.
    """
    if not _ACCOUNT.fullmatch(text) or text == "root":
        raise ValueError(f"{shown(text)} is not the name of an unprivileged user")
    return text


def variable_problem(name: str) -> str:
    """Return the problem with the name of an image's environment variable; empty if it is valid."""
    if not _VARIABLE.fullmatch(name):
        return "is not a variable name"
    if _SECRET.search(name):
        return "looks like a secret, which is readable by all users of the image"
    return ""


def shown(text: str) -> str:
    """Return an untrusted text in quotes, without control characters, and truncated if it is long."""
    return repr(str(text) if len(text) <= 80 else f"{text[:79]}…")

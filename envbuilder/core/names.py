"""Grammar of names, versions and requirements, none of which can be a path, an option of a program, or code."""

from __future__ import annotations

import re
from collections.abc import Callable

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
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
_LONGEST_PATH = 1024
_LONGEST_ID = 100
_ID = r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*"
_DEBIAN_PART = r"[A-Za-z0-9_](?:[A-Za-z0-9_.+~:-]|%3[Aa])*"
_MEMBER_PART = r"(?!\.{1,2}(?:/|\Z))[A-Za-z0-9_.+~][A-Za-z0-9_.+~-]*"
_TAGS = r"[A-Za-z0-9_.]+-[A-Za-z0-9_.]+-[A-Za-z0-9_.]+"
_WHEEL = rf"(?P<name>[A-Za-z0-9_.]+)-(?P<version>[A-Za-z0-9_.!+]+)(-[0-9][A-Za-z0-9_.]*)?-{_TAGS}\.whl"
_SOURCES = r"(?P<stem>[A-Za-z0-9][A-Za-z0-9_.!+-]*)\.(tar\.gz|tgz|tar\.bz2|tar\.xz|zip)"
_SEPARATORS = re.compile(r"[-_.]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LABEL = re.compile(r"[A-Za-z0-9]+(?:[._/-]+[A-Za-z0-9]+)*")
_SECRET = re.compile(r"(?i)(password|passwd|secret|token|api_?key|credential)")


def shown(text: str) -> str:
    """Return an untrusted text in quotes, without control characters, and truncated if it is long."""
    return repr(str(text) if len(text) <= 80 else f"{text[:79]}…")


def _grammar(pattern: str, problem: str, longest: int = _LONGEST) -> Callable[[str], str]:
    """Return a function that returns a text unchanged if a pattern matches all of it, and else raises ValueError."""
    compiled = re.compile(pattern)

    def parse(text: str) -> str:
        if len(text) > longest or not compiled.fullmatch(text):
            raise ValueError(f"{shown(text)} is not {problem}")
        return text

    return parse


row_id = _grammar(
    _ID,
    f"an id: lower-case letters and digits, with '.', '_' or '-' between, at most {_LONGEST_ID}",
    _LONGEST_ID,
)
"""Check the id of an environment or a base; it is also one part of the name of an image."""

commit = _grammar(r"[0-9a-f]{40}|[0-9a-f]{64}", "the full hash of a commit")
"""Check the hash of a git commit, by SHA-1 or SHA-256."""

layer_id = _grammar(_ID, "the id of a layer")
"""Check the id of a layer, such as `cuda.nvidia-cudnn-cu11`."""

media_type = _grammar(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*", "a media type")
"""Check a media type. Source: https://www.rfc-editor.org/rfc/rfc6838#section-4.2"""

archive_member = _grammar(
    rf"{_MEMBER_PART}(?:/{_MEMBER_PART})*", "a relative path, such as cuda/lib64/libcudnn.so.7", _LONGEST_PATH
)
"""Check the relative path of a file in an archive or below an address; it must not lead out."""

https_address = _grammar(
    r"https://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9_.~%+/-]*)?",
    "an https:// address without credentials, query and fragment",
    _LONGEST_PATH,
)
"""Check an `https://` address."""

distribution_file = _grammar(f"{_WHEEL}|{_SOURCES}", "the name of a wheel or of a source distribution")
"""Check the file name of a wheel or a source distribution.

Source: https://packaging.python.org/en/latest/specifications/ (binary and source distribution formats); older
source distributions have names that are not escaped and other suffixes.
"""

debian_name = _grammar(r"[a-z0-9][a-z0-9+.-]+", "the name of a Debian package")
"""Check the name of a Debian package.

Source: https://www.debian.org/doc/debian-policy/ch-controlfields.html, section 5.6.1.
"""

debian_suite = _grammar(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", "the name of a Debian suite")
"""Check the name of a Debian suite."""

debian_version = _grammar(r"[A-Za-z0-9][A-Za-z0-9.+~:-]*", "the version of a Debian package")
"""Check the version of a Debian package.

Source: https://www.debian.org/doc/debian-policy/ch-controlfields.html, section 5.6.12.
"""

debian_file = _grammar(
    rf"(?=.*\.deb\Z){_DEBIAN_PART}(?:/{_DEBIAN_PART})*", "the path of a .deb file in a Debian archive", _LONGEST_PATH
)
"""Check the path of a .deb file below the address of a Debian archive; it must not lead out."""

library_name = _grammar(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*", "the name of a library")
"""Check the file name of a shared library."""

_CONDITION = r"(?:arch|driver)(?:>=|<)[0-9]{1,5}(?:\.[0-9]{1,5}){0,3}"
runtime_requirement = _grammar(
    rf"{_CONDITION}(?:[ ,]{_CONDITION})*",
    "a requirement of NVIDIA's container runtime, such as arch>=7.5,driver>=525.60.13",
    4096,
)
"""Check the value of an `NVIDIA_REQUIRE_…` variable, as far as envbuilder writes it.

Source: https://github.com/NVIDIA/libnvidia-container/blob/main/src/cli/dsl.c
"""

account_name = _grammar(r"(?!root\Z)[a-z_][a-z0-9_-]{0,31}", "the name of an unprivileged user")
"""Check the name of a user, by the rules of useradd; root is refused."""

_python = _grammar(r"3\.[0-9]{1,2}(\.[0-9]{1,3})?", "a version of Python 3, such as 3.8 or 3.8.18")


def python_version(text: str) -> Release:
    """Return the version of an interpreter, such as `3.8` or `3.8.18`.

    Raises:
        ValueError: It is not a version of Python 3.
    """
    return Release(_python(text))


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


def distribution_version(text: str) -> str:
    """Return the version of a Python distribution, unchanged.

    Raises:
        ValueError: It is invalid by PEP 440.
    """
    if version_of(text) is None or text != text.strip():
        raise ValueError(f"{shown(text)} is not a version")
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
    wheel = re.fullmatch(_WHEEL, file)
    if wheel:
        try:
            return normalized(wheel["name"]) == name and Version(wheel["version"].replace("_", "-")) == Version(version)
        except ValueError:
            return False
    sources = re.fullmatch(_SOURCES, file)
    return sources is not None and _SEPARATORS.sub("-", sources["stem"]).lower().startswith(f"{name}-")


def variable_problem(name: str) -> str:
    """Return the problem with the name of an image's environment variable; empty if it is valid."""
    return _secret_problem(name) if _VARIABLE.fullmatch(name) else "is not a variable name"


def label_problem(name: str) -> str:
    """Return the problem with the name of an image's label; empty if it is valid.

    Source: https://docs.docker.com/engine/manage-resources/labels/, key format recommendations; upper-case letters and
    underscores, which old images have, are accepted too.
    """
    if not _LABEL.fullmatch(name) or len(name) > _LONGEST:
        return "is not the name of a label: letters and digits, with '.', '_', '/' or '-' between"
    return _secret_problem(name)


def _secret_problem(name: str) -> str:
    return "looks like a secret, which is readable by all users of the image" if _SECRET.search(name) else ""


def requirement(text: str) -> str:
    """Return a PEP 508 requirement without marker and address, unchanged.

    Raises:
        ValueError: It is invalid, or has an address or a marker; the lock depends on names and versions only.
    """
    parsed = _requirement(text)
    if parsed.marker or parsed.url:
        raise ValueError(f"{text!r} must not have a marker or a URL")
    return text


def requirement_name(text: str) -> str:
    """Return the normalized name of the distribution that a requirement is for.

    Raises:
        ValueError: It is not a requirement.

    Example:
        >>> requirement_name("Keras_Tuner[tensorflow]>=1.1")
        'keras-tuner'
    """
    return canonicalize_name(_requirement(text).name)


def _requirement(text: str) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(f"{text!r} is not a requirement: {str(error).splitlines()[0]}") from None


def version_of(text: str) -> Version | None:
    """Return the version of a Python distribution in an untrusted text; None if it is not one."""
    try:
        return Version(text)
    except InvalidVersion:
        return None


def pep440(text: str) -> Version:
    """Return the version of a Python distribution.

    Raises:
        ValueError: It is invalid.
    """
    found = version_of(text)
    if found is None:
        raise ValueError(f"{text!r} is not a version")
    return found


def os_package(text: str) -> str:
    """Return a Debian package, `name` or `name=version`, unchanged.

    Raises:
        ValueError: It is invalid.
    """
    name, equals, version = text.partition("=")
    try:
        debian_name(name)
        if equals:
            debian_version(version)
    except ValueError:
        raise ValueError(f"{shown(text)} is not a package name or name=version") from None
    return text


sha256 = _grammar(r"[0-9a-f]{64}", "a sha256")
"""Check the 64 lower-case hexadecimal digits of a sha256."""

"""Parsers of package requirements and names in YAML files."""

from __future__ import annotations

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from envbuilder.core.names import debian_name, debian_version, shown


def requirement(text: str) -> str:
    """Return a PEP 508 requirement without marker and address, unchanged.

    Raises:
        ValueError: It is invalid, or has an address or a marker; the lock depends on names and versions only.
    """
    try:
        parsed = Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(f"{text!r} is not a requirement: {str(error).splitlines()[0]}") from None
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
    try:
        return canonicalize_name(Requirement(text).name)
    except InvalidRequirement as error:
        raise ValueError(f"{text!r} is not a requirement: {str(error).splitlines()[0]}") from None


def pep440(text: str) -> Version:
    """Return the version of a Python distribution.

    Raises:
        ValueError: It is invalid.
    """
    try:
        return Version(text)
    except InvalidVersion:
        raise ValueError(f"{text!r} is not a version") from None


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


def sha256(text: str) -> str:
    """Return 64 lower-case hexadecimal digits, unchanged.

    Raises:
        ValueError: It is something else.
    """
    if len(text) != 64 or set(text) - set("0123456789abcdef"):
        raise ValueError(f"{shown(text)} is not a sha256")
    return text

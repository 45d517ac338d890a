"""Versions of Debian packages."""

from __future__ import annotations

import re
from collections.abc import Iterable

from envbuilder.core.versions import Release
from envbuilder.lock.lock import OsPackagePin

_UPSTREAM = re.compile(r"(?:\d+:)?(\d+(?:\.\d+)*)")


def upstream(packages: Iterable[OsPackagePin], name: str) -> Release | None:
    """Return the upstream version of a package, as far as it is a dotted number; None if the package is missing.

    Example:
        >>> upstream([OsPackagePin(name="libc6", version="2.36-9+deb12u10")], "libc6")
        Release(text='2.36')
    """
    for package in packages:
        match = _UPSTREAM.match(package.version) if package.name == name else None
        if match:
            return Release(match[1])
    return None

"""Read what dpkg says is installed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from envbuilder.core.versions import Release
from envbuilder.lock.lock import OsPackagePin

STATUS = "var/lib/dpkg/status"
"""Path of dpkg's list in a tree."""

_UPSTREAM = re.compile(r"(?:\d+:)?(\d+(?:\.\d+)*)")


def installed(status: str) -> tuple[OsPackagePin, ...]:
    r"""The installed packages of a dpkg status file, sorted by name.

    Example:
        >>> installed("Package: six\nStatus: install ok installed\nVersion: 1.16-4\n")
        (OsPackagePin(name='six', version='1.16-4', sha256='', file='', size=0),)
    """
    found = {}
    for paragraph in re.split(r"\n{2,}", status):
        fields = dict(_fields(paragraph))
        if fields.get("Status", "").split()[2:] == ["installed"]:
            found[fields["Package"]] = fields["Version"]
    return tuple(OsPackagePin(name=name, version=version) for name, version in sorted(found.items()))


def _fields(paragraph: str) -> Iterable[tuple[str, str]]:
    for line in paragraph.splitlines():
        name, colon, value = line.partition(":")
        if colon and not name.startswith((" ", "\t")):
            yield name, value.strip()


def upstream(packages: Iterable[OsPackagePin], name: str) -> Release | None:
    """The version that the authors of a package gave it, as far as it is a dotted number; None when it is not there.

    Example:
        >>> upstream([OsPackagePin(name="libc6", version="2.36-9+deb12u10")], "libc6")
        Release(text='2.36')
    """
    for package in packages:
        match = _UPSTREAM.match(package.version) if package.name == name else None
        if match:
            return Release(match[1])
    return None

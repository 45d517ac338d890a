"""Distribution and source package of OS packages, as package URLs and databases of vulnerabilities name them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from envbuilder.catalog.environments import BaseKind
from envbuilder.lock.lock import BasePin, OsPackagePin

_RELEASES = {
    BaseKind.DEBIAN: {"buster": "10", "bullseye": "11", "bookworm": "12", "trixie": "13"},
    BaseKind.UBUNTU: {"xenial": "16.04", "bionic": "18.04", "focal": "20.04", "jammy": "22.04", "noble": "24.04"},
}
"""Releases by suite. Source: https://wiki.debian.org/DebianReleases, https://wiki.ubuntu.com/Releases (2026-11-22)."""

_IMAGE_TAG = re.compile(r"[:-](?P<kind>debian|ubuntu)(?P<version>\d+(?:\.\d+)?)$")
_LONG_TERM = re.compile(r"\d[02468]\.04")


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionRelease:
    """A release of a distribution of .deb packages.

    Attributes:
        name: `debian` or `ubuntu`.
        version: Such as `12` or `20.04`; empty if it is not known.
    """

    name: str
    version: str

    @property
    def distro(self) -> str:
        """Qualifier of package URLs, such as `debian-12`; empty if the release is not known."""
        return f"{self.name}-{self.version}" if self.version else ""

    @property
    def ecosystem(self) -> str:
        """Name in the OSV schema; empty if the release is not known.

        Source: https://ossf.github.io/osv-schema/#defined-ecosystems

        Example:
            >>> DistributionRelease(name="ubuntu", version="20.04").ecosystem
            'Ubuntu:20.04:LTS'
        """
        suffix = ":LTS" if self.name == BaseKind.UBUNTU.value and _LONG_TERM.fullmatch(self.version) else ""
        return f"{self.name.capitalize()}:{self.version}{suffix}" if self.version else ""


def release_of(base: BasePin) -> DistributionRelease:
    """Return the release that the OS packages of a base are from.

    It is part of the id of a tree (`debian-bookworm`), and of the tag of a registry image (`…-ubuntu20.04`). The
    packages of any other image are those of Debian, of an unknown release.
    """
    if base.kind.is_tree:
        suite = base.id.removeprefix(f"{base.kind.value}-")
        return DistributionRelease(name=base.kind.value, version=_RELEASES[base.kind].get(suite, ""))
    tag = _IMAGE_TAG.search(base.image)
    if tag is None:
        return DistributionRelease(name=BaseKind.DEBIAN.value, version="")
    return DistributionRelease(name=tag["kind"], version=tag["version"])


def source_of(pin: OsPackagePin) -> str:
    """Return the source package of an OS package, from the directory of its file in the archive.

    Returns:
        The name of the package itself if its file is unknown, or elsewhere.

    Source: https://www.debian.org/doc/manuals/debian-faq/ftparchives.en.html, section "pool"

    Example:
        >>> source_of(OsPackagePin(name="libc6", version="2.36-9", file="pool/main/g/glibc/libc6_2.36-9_amd64.deb"))
        'glibc'
    """
    *_, initial, source, _ = ("", "", *PurePosixPath(pin.file).parts) if pin.file else ("", "", "")
    expected = source[:4] if source.startswith("lib") else source[:1]
    return source if source and initial == expected else pin.name

"""Distributions of .deb packages: layout of their archives, their keyrings, and the options that name them.

Source: https://wiki.debian.org/DebianRepository/Format; https://www.debian.org/releases/bullseye/amd64/release-notes,
section 5.1.3 (name of the security suite since bullseye); https://wiki.debian.org/SnapshotDebianOrg (layout of
snapshots); the archives of Debian and Ubuntu, read 2026-11-22.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from envbuilder.catalog.environments import BaseKind

_KEYRINGS = Path("/usr/share/keyrings")
_DEBIAN = "debian"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteLocation:
    """A directory where an archive may have a suite, and what its Release file states.

    Attributes:
        directory: Below `dists/`, such as `bookworm-updates`.
        codename: Name in its Release file.
        label: Label in its Release file; empty for any.
        beside: Whether it is in the archive of security updates, beside the main one.
    """

    directory: str
    codename: str
    label: str = ""
    beside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePart:
    """A suite, its updates, or its security updates.

    Attributes:
        name: Such as `bookworm-security`.
        places: Where an archive may have it, the current layout first.
        required: Whether there is no index without it.
    """

    name: str
    places: tuple[SuiteLocation, ...]
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DebDistribution:
    """A distribution of .deb packages.

    Attributes:
        kind: Kind of the bases that are made of its packages.
        keyring: Its keys on this machine.
        keyring_package: Package that has them.
        install: How to install gpgv and the keyring.
        security_beside: Whether its security updates are in an archive of their own.
    """

    kind: BaseKind
    title: str
    keyring: Path
    keyring_package: str
    install: str
    security_beside: bool

    @property
    def mirror_option(self) -> str:
        """The option that names an archive."""
        return f"--{self.kind.value}-mirror URL"

    @property
    def keyring_option(self) -> str:
        """The option that names a keyring."""
        return f"--{self.kind.value}-keyring FILE"

    @property
    def expired_option(self) -> str:
        """The option that accepts expired suites."""
        return f"--{self.kind.value}-allow-expired"

    @property
    def another_mirror(self) -> str:
        """Hint of errors about the content of an archive."""
        return f"use another mirror: {self.mirror_option}"

    def parts(self, suite: str) -> tuple[SuitePart, ...]:
        """Return a suite, its updates and its security updates."""
        security = SuiteLocation(
            directory=f"{suite}-security", codename=f"{suite}-security", beside=self.security_beside
        )
        old = SuiteLocation(directory=f"{suite}/updates", codename=suite, label="Debian-Security", beside=True)
        return (
            SuitePart(name=suite, places=(SuiteLocation(directory=suite, codename=suite),), required=True),
            SuitePart(
                name=f"{suite}-updates",
                places=(SuiteLocation(directory=f"{suite}-updates", codename=f"{suite}-updates"),),
            ),
            SuitePart(name=f"{suite}-security", places=(security, old) if self.security_beside else (security,)),
        )


DEBIAN = DebDistribution(
    kind=BaseKind.DEBIAN,
    title="Debian",
    keyring=_KEYRINGS / "debian-archive-keyring.gpg",
    keyring_package="debian-archive-keyring",
    install="`apt-get install gpgv debian-archive-keyring` (Debian, Ubuntu), `dnf install gnupg2 debian-keyring` "
    "(Fedora), `pacman -S gnupg debian-archive-keyring` (Arch)",
    security_beside=True,
)
"""Its keyring has the keys in use; `debian-archive-removed-keys.gpg`, beside it, has the retired ones."""

UBUNTU = DebDistribution(
    kind=BaseKind.UBUNTU,
    title="Ubuntu",
    keyring=_KEYRINGS / "ubuntu-archive-keyring.gpg",
    keyring_package="ubuntu-keyring",
    install="`apt-get install gpgv ubuntu-keyring` (Ubuntu, Debian 13 and later), `pacman -S gnupg ubuntu-keyring` "
    "(Arch)",
    security_beside=False,
)
"""Security updates for paying subscribers (ESM) are in other archives, which are not used."""

DISTRIBUTIONS = {each.kind: each for each in (DEBIAN, UBUNTU)}


def security_archive(mirror: str) -> str:
    """Return the address of the archive of security updates that belongs to a Debian archive.

    Example:
        >>> security_archive("https://mirror.example/debian")
        'https://mirror.example/debian-security'
        >>> security_archive("https://snapshot.example/archive/debian/20251122T000000Z")
        'https://snapshot.example/archive/debian-security/20251122T000000Z'
    """
    head, separator, date = mirror.rpartition(f"/{_DEBIAN}/")
    return f"{head}/{_DEBIAN}-security/{date}" if separator else f"{mirror}-security"

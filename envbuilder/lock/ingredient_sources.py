"""Sources of ingredients on this machine, as a command line or a spec names them; never part of a lock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from envbuilder.catalog.environments import BaseKind
from envbuilder.core.field_rules import At, Entries, Omitted, Parsed
from envbuilder.core.references import registry_address, registry_repository
from envbuilder.lock.publishers import publisher_name, publisher_place


def _addresses(value: object) -> tuple[str, ...]:
    """Return one address, or several, as a tuple.

    Raises:
        ValueError: It is neither a text nor a list of texts.
    """
    several = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str) and each for each in several):
        raise ValueError("must be an address, or a list of addresses")
    return tuple(several)


def layer_caches(value: object) -> tuple[str, ...]:
    """Return one repository of a registry, or several, as a tuple.

    Raises:
        ValueError: One of them is not `HOST/NAME`. The message does not repeat credentials.
    """
    return tuple(registry_repository(text) for text in _addresses(value))


Places: TypeAlias = Annotated[
    tuple[tuple[Annotated[str, Parsed(publisher_name)], Annotated[str, Parsed(publisher_place)]], ...],
    Entries(ordered=True),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageArchives:
    """Archives of the .deb packages of one distribution.

    Attributes:
        mirrors: Their addresses, in the order in which they are asked; empty for those of this host.
        keyring: File with the keys that sign them; empty for the distribution's own. Never from a spec.
        allow_expired: Accept suites whose Release file has expired, as in archives of old suites and snapshots.
    """

    mirrors: tuple[str, ...]
    keyring: str
    allow_expired: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Sources of ingredients on this machine; never part of a lock.

    Attributes:
        registry_mirror: Registry that serves the base images instead of the public ones, such as `localhost:5000`.
        mirror: Repository of a registry with files of locks, for those that their sources no longer have, such as
            `localhost:5000/team/tf`; empty for that of this host.
        debian_mirrors: Addresses of Debian archives, asked in this order; empty for those of this host.
        debian_keyring: File with the keys that sign them; empty for Debian's own. Never from a spec.
        debian_allow_expired: Accept suites of Debian whose Release file has expired.
        ubuntu_mirrors: Addresses of Ubuntu archives, likewise.
        ubuntu_keyring: File with the keys that sign them; empty for Ubuntu's own. Never from a spec.
        ubuntu_allow_expired: Accept suites of Ubuntu whose Release file has expired.
        index: Address of a package index; empty for uv's own configuration.
        python_archives: Interpreter archives that the user names, as paths.
        layer_caches: Repositories, as `HOST/NAME`, whose statements about layers are trusted; in order.
        publishers: Where archives of vendors come from instead of their publishers: pairs of a publisher's id, or
            `*` for every other one, and a base URL or a directory; sorted.
        accept_nvidia_eula: Whether the user accepts NVIDIA's license of the libraries in those archives.
    """

    registry_mirror: Annotated[str, Parsed(registry_address)] = ""
    mirror: Annotated[str, Parsed(registry_repository)] = ""
    debian_mirrors: Annotated[tuple[str, ...], At("debian_mirror"), Parsed(_addresses, of=object)] = ()
    debian_keyring: Annotated[str, Omitted()] = ""
    debian_allow_expired: bool = False
    ubuntu_mirrors: Annotated[tuple[str, ...], At("ubuntu_mirror"), Parsed(_addresses, of=object)] = ()
    ubuntu_keyring: Annotated[str, Omitted()] = ""
    ubuntu_allow_expired: bool = False
    index: str = ""
    python_archives: tuple[str, ...] = ()
    layer_caches: Annotated[tuple[str, ...], At("layer_cache"), Parsed(layer_caches, of=object)] = ()
    publishers: Places = ()
    accept_nvidia_eula: Annotated[bool, Omitted()] = False

    def archives(self, kind: BaseKind) -> PackageArchives:
        """Return the archives of the packages of a base; those of Debian for a registry image."""
        if kind is BaseKind.UBUNTU:
            return PackageArchives(
                mirrors=self.ubuntu_mirrors, keyring=self.ubuntu_keyring, allow_expired=self.ubuntu_allow_expired
            )
        return PackageArchives(
            mirrors=self.debian_mirrors, keyring=self.debian_keyring, allow_expired=self.debian_allow_expired
        )


NO_SOURCES = Sources()

"""Mirrors of archives and keyrings, as configured by the command line, the spec, the environment and this host."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from envbuilder.catalog.archives import ArchiveFacts
from envbuilder.catalog.environments import BaseKind
from envbuilder.core.errors import UsageError
from envbuilder.lock.publisher_places import parse_publisher, refuse_unknown
from envbuilder.lock.spec_values import Sources
from envbuilder.wiring.settings import PUBLISHERS_VARIABLE, Settings

_ONE_LINE = re.compile(r"^\s*deb\s+(?:\[[^\]]*\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<components>.+)$")
_ARCHIVE = re.compile(r"^(https?|file|copy)://\S+/(?P<name>[^/]+)/?$")


def mirrors(settings: Settings, sources: Sources, kind: BaseKind) -> tuple[str, ...]:
    """Return the archives of a distribution: of the command line or the spec, of the environment, or of this host.

    `ENVBUILDER_DEBIAN_MIRROR` and `ENVBUILDER_UBUNTU_MIRROR` hold addresses with spaces between them.

    Returns:
        Addresses without a final slash, in the order in which they are asked; empty if none is configured.
    """
    named = sources.archives(kind).mirrors or settings.environ.get(mirrors_variable(kind), "").split()
    return tuple(each.rstrip("/") for each in named or filter(None, [host_mirror(settings.apt_sources, kind)]))


def host_mirror(sources: Iterable[str], kind: BaseKind) -> str:
    """Return the first archive of a distribution in the apt configuration of this host.

    Args:
        sources: Content of `sources.list` and of the files in `sources.list.d`, in apt's order.
        kind: The distribution, whose archives are in a directory of its name.

    Returns:
        Its address without a trailing slash; empty if the host has none.
    """
    for text in sources:
        for uri in (*_deb822(text), *_one_line(text)):
            found = _ARCHIVE.match(uri)
            if found and found["name"] == kind.value:
                return uri.rstrip("/")
    return ""


def _deb822(text: str) -> Iterable[str]:
    for line in text.splitlines():
        field, colon, value = line.partition(":")
        if colon and field.strip().lower() == "uris":
            yield from value.split()


def _one_line(text: str) -> Iterable[str]:
    for line in text.splitlines():
        match = _ONE_LINE.match(line)
        if match:
            yield match["uri"]


def keyring(settings: Settings, sources: Sources, kind: BaseKind) -> Path | None:
    """Return the named file with the keys of a distribution; None means its own."""
    named = sources.archives(kind).keyring or settings.environ.get(f"{_prefix(kind)}_KEYRING", "")
    return Path(named).absolute() if named else None


def mirrors_variable(kind: BaseKind) -> str:
    """Return the variable that names the archives of a distribution."""
    return f"{_prefix(kind)}_MIRROR"


def _prefix(kind: BaseKind) -> str:
    return f"ENVBUILDER_{kind.value.upper()}"


def places_of_publishers(settings: Settings, facts: ArchiveFacts, sources: Sources) -> dict[str, str]:
    """Return the places of publishers, by name; those of the command line and the spec precede those of this host.

    Raises:
        UsageError: A name is not among the publishers of the catalog; or the variable of this host is no list of
            `NAME=PLACE`.
    """
    try:
        here = dict(map(parse_publisher, settings.environ.get(PUBLISHERS_VARIABLE, "").split()))
    except ValueError as error:
        hint = f"write {PUBLISHERS_VARIABLE}='NAME=DIR NAME=URL'"
        raise UsageError(f"{PUBLISHERS_VARIABLE}: {error}", hint=hint) from error
    places = {**here, **dict(sources.publishers)}
    refuse_unknown(places, facts)
    return places

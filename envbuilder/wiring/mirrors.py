"""Mirrors, keyrings, interpreter archives and places of publishers, as configured by command line, spec and host."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from envbuilder.catalog.archives import ArchiveFacts
from envbuilder.catalog.environments import BaseKind
from envbuilder.core.errors import UsageError
from envbuilder.core.references import registry_address, registry_repository
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.publishers import parse_publisher, refuse_unknown
from envbuilder.wiring.configuration import (
    DEBIAN_KEYRING,
    DEBIAN_MIRROR,
    MIRROR,
    PUBLISHERS,
    PYTHON_ARCHIVE,
    REGISTRY_MIRROR,
    UBUNTU_KEYRING,
    UBUNTU_MIRROR,
    Setting,
)
from envbuilder.wiring.settings import Settings

_MIRRORS = {BaseKind.DEBIAN: DEBIAN_MIRROR, BaseKind.UBUNTU: UBUNTU_MIRROR}
_KEYRINGS = {BaseKind.DEBIAN: DEBIAN_KEYRING, BaseKind.UBUNTU: UBUNTU_KEYRING}
_ONE_LINE = re.compile(r"^\s*deb\s+(?:\[[^\]]*\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<components>.+)$")
_ARCHIVE = re.compile(r"^(https?|file|copy)://\S+/(?P<name>[^/]+)/?$")


def mirrors(settings: Settings, sources: Sources, kind: BaseKind) -> tuple[str, ...]:
    """Return the archives of a distribution: of the command line or the spec, of the settings, or of apt.

    Returns:
        Addresses without a final slash, in the order in which they are asked; empty if none is configured.
    """
    named = sources.archives(kind).mirrors or settings.words(_MIRRORS[kind])
    return tuple(each.rstrip("/") for each in named or filter(None, [host_mirror(settings.apt_sources, kind)]))


def host_mirror(sources: Iterable[str], kind: BaseKind) -> str:
    """Return the first archive of a distribution in the apt configuration of this host.

    `sources` are the contents of apt's files, in its order. An archive is in a directory with the name of its
    distribution.

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
    named = sources.archives(kind).keyring
    if named:
        return Path(named).absolute()
    given = settings.given(_KEYRINGS[kind])
    return given.path.absolute() if given else None


def mirror_repository(settings: Settings, sources: Sources) -> str:
    """Return the repository with files of locks, `HOST/NAME`; empty if none is configured. Errors as in `_address`."""
    return sources.mirror or _address(settings, MIRROR, registry_repository, "HOST/NAME")


def registry_mirror(settings: Settings, sources: Sources) -> str:
    """Return the registry that serves the base images, `HOST[:PORT]`; empty if none is configured.

    Errors as in `_address`.
    """
    return sources.registry_mirror or _address(settings, REGISTRY_MIRROR, registry_address, "HOST[:PORT]")


def _address(settings: Settings, setting: Setting, parse: Callable[[str], str], form: str) -> str:
    """Return the address in a setting; empty if it has no value.

    Raises:
        UsageError: It is not an address of this form.
    """
    given = settings.given(setting)
    try:
        return parse(given.words[0]) if given else ""
    except ValueError as error:
        raise UsageError(f"{given.origin if given else ''}: {error}", hint=f"specify it as {form}") from error


def configured_archives(settings: Settings) -> tuple[Path, ...]:
    """Return the interpreter archives of the settings.

    Raises:
        UsageError: A file of the settings does not exist.
    """
    given = settings.given(PYTHON_ARCHIVE)
    here = [given.folder / Path(word).expanduser() for word in given.words] if given else []
    for path in here:
        if not path.is_file():
            raise UsageError(f"{given.origin if given else ''}: no such file: {path}", hint="correct or remove it")
    return tuple(here)


def places_of_publishers(settings: Settings, facts: ArchiveFacts, sources: Sources) -> dict[str, str]:
    """Return the places of publishers, by name; those of the command line and the spec precede those of this host.

    Raises:
        UsageError: A name is not among the publishers of the catalog; or the setting is no list of `NAME=PLACE`.
    """
    given = settings.given(PUBLISHERS)
    try:
        here = dict(map(parse_publisher, given.words)) if given else {}
    except ValueError as error:
        raise UsageError(f"{given.origin if given else ''}: {error}", hint="specify NAME=DIR or NAME=URL") from error
    places = {**here, **dict(sources.publishers)}
    refuse_unknown(places, facts)
    return places

"""Package archives of this host, read from its apt configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable

from envbuilder.catalog.environments import BaseKind

_ONE_LINE = re.compile(r"^\s*deb\s+(?:\[[^\]]*\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<components>.+)$")
_ARCHIVE = re.compile(r"^(https?|file|copy)://\S+/(?P<name>[^/]+)/?$")


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


def apt_sources(mirror: str, suite: str, components: Iterable[str]) -> str:
    """Return `sources.list` for one suite and its updates."""
    parts = " ".join(components)
    return "".join(f"deb {mirror} {name} {parts}\n" for name in (suite, f"{suite}-updates"))

"""Places of publishers of archives, as configured by the command line, the spec and this host."""

from __future__ import annotations

from envbuilder.catalog.archives import ArchiveFacts
from envbuilder.core.errors import UsageError
from envbuilder.lock.publisher_places import parse_publisher, refuse_unknown
from envbuilder.lock.spec_values import Sources
from envbuilder.wiring.settings import PUBLISHERS_VARIABLE, Settings


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

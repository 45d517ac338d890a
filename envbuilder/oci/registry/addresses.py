"""Network address of an image: host, repository, and whether plain http is allowed."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.core.errors import UsageError
from envbuilder.core.http.origins import scheme_of
from envbuilder.core.references import ImageRef

_OFFICIAL = "library"
"""Docker's default namespace: https://docs.docker.com/reference/cli/docker/image/tag/."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One repository of one registry.

    Attributes:
        host: `host[:port]`.
        repository: Its name there, such as `team/tf`.
    """

    host: str
    repository: str

    def __str__(self) -> str:
        return f"{self.host}/{self.repository}"


def place_of(reference: ImageRef, default: str = "") -> Place:
    """Return the registry and repository that a reference names.

    Args:
        reference: Its first part is a host, or is not.
        default: Host of the registry for references without one; empty for none.

    Raises:
        UsageError: The reference has no host, and there is no default; or its host is invalid.

    Example:
        >>> place_of(ImageRef.parse("localhost:5000/team/tf:1"))
        Place(host='localhost:5000', repository='team/tf')
        >>> place_of(ImageRef.parse("debian:12"), "registry.example")
        Place(host='registry.example', repository='library/debian')
    """
    place = _split(reference.repository)
    if place is not None and not scheme_of(f"https://{place.host}"):
        raise UsageError(
            f"{place.host} is not the address of a registry", hint="use HOST[:PORT] with a port up to 65535"
        )
    if place is None and default:
        name = reference.repository
        return Place(host=default, repository=name if "/" in name else f"{_OFFICIAL}/{name}")
    if place is None:
        raise UsageError(
            f"the registry of {reference} is missing: its name does not start with a host",
            hint="use a name such as `HOST/NAME:TAG`",
        )
    return place


def host_of(name: str) -> str:
    """Return the host of a registry that a name begins with; empty for none, such as for a path.

    Example:
        >>> host_of("localhost:5000/team/tf:1"), host_of("team/tf"), host_of("./team")
        ('localhost:5000', '', '')
    """
    host, slash, _ = name.partition("/")
    return host if slash and ("." in host.strip(".") or ":" in host or host == "localhost") else ""


def siblings(repositories: tuple[str, ...], place: Place) -> tuple[str, ...]:
    """Return the repositories, given as `HOST/NAME`, on the host of a place; no duplicates, nor the place itself."""
    places = (_split(repository) for repository in repositories)
    names = (other.repository for other in places if other is not None and other.host == place.host)
    return tuple(name for name in dict.fromkeys(names) if name != place.repository)


def _split(repository: str) -> Place | None:
    host = host_of(repository)
    return Place(host=host, repository=repository.removeprefix(f"{host}/")) if host else None

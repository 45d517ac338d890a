"""Package archives, keyrings and mirror, as configured by the command line, the spec, the environment and this host."""

from __future__ import annotations

from pathlib import Path

from envbuilder.catalog.environments import BaseKind
from envbuilder.core.errors import UsageError
from envbuilder.core.references import registry_repository
from envbuilder.lock.resolve.apt_mirrors import host_mirror
from envbuilder.lock.spec_values import Sources
from envbuilder.wiring.settings import MIRROR_VARIABLE, Settings


def mirrors(settings: Settings, sources: Sources, kind: BaseKind) -> tuple[str, ...]:
    """Return the archives of a distribution: of the command line or the spec, of the environment, or of this host.

    `ENVBUILDER_DEBIAN_MIRROR` and `ENVBUILDER_UBUNTU_MIRROR` hold addresses with spaces between them.

    Returns:
        Addresses without a final slash, in the order in which they are asked; empty if none is configured.
    """
    named = sources.archives(kind).mirrors or settings.environ.get(mirrors_variable(kind), "").split()
    return tuple(each.rstrip("/") for each in named or filter(None, [host_mirror(settings.apt_sources, kind)]))


def keyring(settings: Settings, sources: Sources, kind: BaseKind) -> Path | None:
    """Return the named file with the keys of a distribution; None means its own."""
    named = sources.archives(kind).keyring or settings.environ.get(f"{_prefix(kind)}_KEYRING", "")
    return Path(named).absolute() if named else None


def mirror_repository(settings: Settings, sources: Sources) -> str:
    """Return the repository with files of locks: of the command line or the spec, or of the environment.

    Returns:
        `HOST/NAME`; empty if none is configured.

    Raises:
        UsageError: The variable of this host is not a repository.
    """
    here = settings.environ.get(MIRROR_VARIABLE, "")
    if sources.mirror or not here:
        return sources.mirror
    try:
        return registry_repository(here)
    except ValueError as error:
        raise UsageError(f"{MIRROR_VARIABLE}: {error}", hint=f"write {MIRROR_VARIABLE}=HOST/NAME") from error


def mirrors_variable(kind: BaseKind) -> str:
    """Return the variable that names the archives of a distribution."""
    return f"{_prefix(kind)}_MIRROR"


def _prefix(kind: BaseKind) -> str:
    return f"ENVBUILDER_{kind.value.upper()}"

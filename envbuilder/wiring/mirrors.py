"""Package archives and keyrings, as configured by the command line, the spec, the environment and this host."""

from __future__ import annotations

from pathlib import Path

from envbuilder.catalog.environments import BaseKind
from envbuilder.lock.resolve.apt_mirrors import host_mirror
from envbuilder.lock.spec_values import Sources
from envbuilder.wiring.settings import Settings


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


def mirrors_variable(kind: BaseKind) -> str:
    """Return the variable that names the archives of a distribution."""
    return f"{_prefix(kind)}_MIRROR"


def _prefix(kind: BaseKind) -> str:
    return f"ENVBUILDER_{kind.value.upper()}"

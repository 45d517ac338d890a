"""Host settings that single steps of a Docker build need to reach their sources."""

from __future__ import annotations

from collections.abc import Iterable

from envbuilder.catalog.environments import BaseSystem
from envbuilder.core.errors import UsageError
from envbuilder.image.base.deb.distributions import DISTRIBUTIONS
from envbuilder.image.base.deb_trees import no_archive
from envbuilder.image.render import HostFile
from envbuilder.lock.lock import Lock


def host_files(
    lock: Lock, bases: Iterable[BaseSystem], *, ca_bundle: bytes, index: str, mirrors: tuple[str, ...]
) -> tuple[HostFile, ...]:
    """Return the host files of a lock.

    Args:
        lock: The lock.
        bases: Bases of the catalog.
        ca_bundle: CA bundle of this host; empty if it has none of its own.
        index: Address of the package index; empty means uv's own configuration.
        mirrors: Archives of the distribution of its base; empty if none is configured.

    Raises:
        UsageError: The lock has OS packages on a tree, and no archive of its distribution is configured.
    """
    files = []
    if ca_bundle:
        files.append(HostFile(name="ca.pem", content=ca_bundle))
    if index:
        files.append(HostFile(name="uv.toml", content=_uv_settings(index)))
    system = next((system for system in bases if system.id == lock.base.id), None)
    # A registry image has an apt configuration of its own.
    if lock.os_packages and system is not None and system.kind.is_tree:
        files.append(HostFile(name="sources.list", content=_sources_list(system, mirrors).encode()))
    return tuple(files)


def _sources_list(system: BaseSystem, mirrors: tuple[str, ...]) -> str:
    """Return `sources.list` for the suite of a base and its updates."""
    if not mirrors:
        no_archive("OS packages need", DISTRIBUTIONS[system.kind], UsageError)
    suites, components = (system.suite, f"{system.suite}-updates"), " ".join(system.components)
    return "".join(f"deb {mirrors[0]} {suite} {components}\n" for suite in suites)


def _uv_settings(index: str) -> bytes:
    quoted = index.replace("\\", "\\\\").replace('"', '\\"')
    return f'[[index]]\nurl = "{quoted}"\ndefault = true\n'.encode()

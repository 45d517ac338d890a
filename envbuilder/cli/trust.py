"""Notices of what a lock, a spec or a bundle from elsewhere makes this machine trust."""

from __future__ import annotations

from pathlib import Path

from envbuilder.cli.composition import Composition
from envbuilder.http.origins import without_login
from envbuilder.indexing.credentials import address_of
from envbuilder.indexing.default_index import configured_index
from envbuilder.locking.lockfile import digest
from envbuilder.model.locks import Lock, Sources, Spec, ToolName
from envbuilder.workflows.trust import Origins, Told, trusted_by_lock, trusted_by_spec

_DEFAULT_INDEX = "uv's default index"


def tell_lock(composition: Composition, lock: Lock, sources: Sources, *, bundle: str = "") -> None:
    """Say once to this account what a build of a lock trusts.

    Args:
        composition: Adapters.
        lock: A lock that a file or a bundle holds.
        sources: Where to fetch from.
        bundle: The bundle, and whether it is signed; empty for none.
    """
    own = {pin.name: pin.sha256 for pin in (composition.probe_pin(), composition.hook_pin())}
    uv = lock.tool(ToolName.UV)
    if uv is not None:
        # Only engines that install packages run it; in a Docker build it is compared with the pin before.
        own[ToolName.UV] = uv.sha256
    sentences = trusted_by_lock(lock, _origins(composition, sources, bundle), own)
    if Told(folder=composition.places.use("seen")).is_new(lock, sentences):
        composition.say(f"first build of the lock {digest(lock)[:19]} here; it trusts:")
        for sentence in sentences:
            composition.say(f"  {sentence}")


def tell_spec(composition: Composition, spec: Spec) -> None:
    """Say what locking a spec trusts beyond the defaults."""
    origins = _origins(composition, spec.sources)
    default = origins.index == _DEFAULT_INDEX
    for sentence in trusted_by_spec(spec, origins, index_is_default=default):
        composition.say(sentence)


def _origins(composition: Composition, sources: Sources, bundle: str = "") -> Origins:
    return Origins(
        index=_index(composition, sources),
        debian=_shown(composition.mirror(sources)) or "no Debian archive that is known",
        registry=sources.registry_mirror,
        bundle=bundle,
    )


def _index(composition: Composition, sources: Sources) -> str:
    """Return the address of the package index, and who named it."""
    places = composition.places
    if sources.index:
        return f"{_shown(address_of(sources.index))} (--index or the spec)"
    if places.index:
        return f"{_shown(places.index_url)} ({places.index_variable})"
    if places.environ.get("UV_NO_CONFIG"):
        return _DEFAULT_INDEX
    address, file = configured_index(places.environ, Path(places.environ.get("HOME") or "/nonexistent"))
    return f"{_shown(address)} ({file})" if address else _DEFAULT_INDEX


def _shown(address: str) -> str:
    """Return an address without credentials and without control characters."""
    try:
        plain = without_login(address)
    except ValueError:
        return "an address that is none"
    return "".join(character for character in plain if character.isprintable())

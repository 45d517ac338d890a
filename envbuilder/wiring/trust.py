"""Notices of the trust that a foreign lock, spec or bundle requires."""

from __future__ import annotations

from pathlib import Path

from envbuilder.catalog.environments import BaseKind
from envbuilder.core.http.origins import without_login
from envbuilder.core.uv import uv_environ
from envbuilder.image.trust import Origins, is_new, trusted_by_lock, trusted_by_spec
from envbuilder.lock.index.configured_indexes import address_of, configured_index, settings_of
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock, ToolName
from envbuilder.lock.lockfile import digest
from envbuilder.lock.spec import Spec
from envbuilder.wiring.build_inputs import pinned_files
from envbuilder.wiring.layer_caches import caches_to_read
from envbuilder.wiring.mirrors import mirror_repository, mirrors, registry_mirror
from envbuilder.wiring.session import Session

_DEFAULT_INDEX = "uv's default index"


def trusts(
    session: Session, lock: Lock, sources: Sources, *, bundle: str = "", offline: bool = False
) -> tuple[str, ...]:
    """Return the trust statements about a build of a lock, one for each source and for code that is run.

    `bundle` names the bundle and its signature. Offline, nothing is fetched.
    """
    own = {pin.name: pin.sha256 for pin in pinned_files(session).own_pins()}
    uv = lock.tool(ToolName.UV)
    if uv is not None:
        # Every lock names the release of uv that made it; a Docker build compares the program with the pin.
        own[ToolName.UV] = uv.sha256
    return trusted_by_lock(lock, _origins(session, sources, bundle, offline=offline), own)


def report_lock_trust(
    session: Session, lock: Lock, sources: Sources, *, bundle: str = "", offline: bool = False
) -> None:
    """Print the trust statements about a lock from a file or a bundle once for this user; see `trusts`."""
    sentences = trusts(session, lock, sources, bundle=bundle, offline=offline)
    if is_new(session.settings.use("seen"), lock, sentences):
        session.progress(f"the lock {digest(lock)[:19]} was not used here before; it trusts:")
        for sentence in sentences:
            session.progress(f"  {sentence}")


def remember_own_lock(session: Session, lock: Lock, sources: Sources) -> None:
    """Record a lock that this user just made: what it trusts was printed for its spec."""
    is_new(session.settings.use("seen"), lock, trusts(session, lock, sources))


def report_spec_trust(session: Session, spec: Spec) -> None:
    """Print the trust statements about locking a spec beyond the defaults."""
    origins = _origins(session, spec.sources)
    default = origins.index == _DEFAULT_INDEX
    if spec.catalogs or session.catalog.origin(spec.environment):
        for team in session.catalog.teams:
            session.progress(f"catalog: {team}")
    for sentence in trusted_by_spec(spec, origins, index_is_default=default):
        session.progress(sentence)


def _origins(session: Session, sources: Sources, bundle: str = "", *, offline: bool = False) -> Origins:
    return Origins(
        index=_index(session, sources),
        debian=_archives(session, sources, BaseKind.DEBIAN),
        ubuntu=_archives(session, sources, BaseKind.UBUNTU),
        registry=registry_mirror(session.settings, sources),
        mirror=mirror_repository(session.settings, sources),
        layers=" and ".join(caches_to_read(session.settings, sources)),
        bundle=bundle,
        offline=offline,
    )


def _archives(session: Session, sources: Sources, kind: BaseKind) -> str:
    named = " and ".join(map(_shown, mirrors(session.settings, sources, kind)))
    return named or f"no {kind.value.capitalize()} archive that is known"


def _index(session: Session, sources: Sources) -> str:
    """Return the address of the package index and its origin, and the origins of further ones."""
    further = " and ".join(_further_indexes(session))
    return _first_index(session, sources) + (f", and those of {further}" if further else "")


def _first_index(session: Session, sources: Sources) -> str:
    settings = session.settings
    if sources.index:
        return f"{_shown(address_of(sources.index))} (--index or the spec)"
    if settings.index:
        return f"{_shown(address_of(settings.index))} ({settings.index_origin})"
    file = uv_environ(settings.environ).get("UV_CONFIG_FILE", "")
    address, _ = configured_index({"UV_CONFIG_FILE": file}, Path("/nonexistent")) if file else ("", "")
    return f"{_shown(address)} ({file})" if address else _DEFAULT_INDEX


def _further_indexes(session: Session) -> list[str]:
    """Return the variables and the settings file that name package indexes beside the first one."""
    environ = session.settings.environ
    file = uv_environ(environ).get("UV_CONFIG_FILE", "")
    settings = settings_of(Path(file)) if file else {}
    nested = settings.get("pip")
    keys = {*settings, *(nested if isinstance(nested, dict) else {})}
    listed = settings.get("index")
    several = (
        [each for each in listed if isinstance(each, dict) and not each.get("default")]
        if isinstance(listed, list)
        else []
    )
    named = [name for name in ("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS") if environ.get(name)]
    return [*named, *([file] if several or keys & {"extra-index-url", "find-links"} else [])]


def _shown(address: str) -> str:
    """Return an address without credentials and without control characters."""
    try:
        plain = without_login(address)
    except ValueError:
        return "an invalid address"
    # An invalid address may contain credentials too: `me:secret@host`.
    plain = plain if "://" in plain else plain.rpartition("@")[2]
    return "".join(character for character in plain if character.isprintable())

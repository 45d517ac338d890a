"""The lock of a target: the one that is there, or one made in the cache folder for a row without a spec."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from packaging.version import Version

from envbuilder.core.errors import InvalidInput, NoUsableBase, UsageError
from envbuilder.lock.create import as_shipped, check
from envbuilder.lock.lock import Lock, Sources, Spec
from envbuilder.lock.lockfile import digest, dump
from envbuilder.lock.spec import with_sources
from envbuilder.wiring.adapters import Composition
from envbuilder.wiring.image_names import default_name
from envbuilder.wiring.refusals import locked
from envbuilder.wiring.targets import LockTarget, RowTarget, read_lock, target, write_text
from envbuilder.wiring.trust import tell_lock
from envbuilder.wiring.unpinned import unpinned_lock


def obtain_lock(
    composition: Composition,
    name: str | None,
    named: Sources,
    *,
    base: str = "",
    tensorflow: Version | None = None,
) -> tuple[Lock, Sources]:
    """The lock that a command line means, and where to fetch from.

    Args:
        composition: Adapters.
        name: A row, a lock, or None for the lock in this folder.
        named: Sources of the command line.
        base: Base that the command line asks for; only for a row, a lock has chosen.
        tensorflow: Patch release that the command line asks for; only for a row.

    Raises:
        UsageError: Nothing of that name; or a lock that its spec has left behind, or that does not pin everything.
        NoUsableBase: No base of the row is available.
    """
    match target(composition.catalog, name, tensorflow=tensorflow):
        case LockTarget() as there:
            _refuse_unpinned(there)
            lock, sources = _there(composition, there, named, base, tensorflow)
            tell_lock(composition, lock, sources)
            return lock, sources
        case RowTarget(spec=spec):
            wanted = with_sources(replace(spec, base=base), named)
            return _cached(composition, wanted), wanted.sources


def known_lock(
    composition: Composition,
    name: str | None,
    named: Sources,
    *,
    base: str = "",
    tensorflow: Version | None = None,
) -> tuple[Lock, Sources]:
    """Return the lock that a command line means, without fetching a base or an interpreter for it.

    Args:
        composition: Adapters.
        name: A row, a lock, or None for the lock in this directory.
        named: Sources of the command line.
        base: Base that the command line asks for; only for a row.
        tensorflow: Patch release that the command line asks for; only for a row.

    Returns:
        A lock that may leave ingredients unpinned (`Lock.unpinned`), and the sources.

    Raises:
        UsageError: Nothing of that name; or a lock that its spec has left behind.
    """
    match target(composition.catalog, name, tensorflow=tensorflow):
        case LockTarget() as there:
            return _there(composition, there, named, base, tensorflow)
        case RowTarget(spec=spec):
            wanted = with_sources(replace(spec, base=base), named)
            return _kept(composition, wanted) or unpinned_lock(composition, wanted), wanted.sources


def renderable_lock(
    composition: Composition, name: str | None, named: Sources, *, tensorflow: Version | None = None
) -> tuple[Lock, Sources]:
    """Return a lock with everything pinned, or one without where no base of a row is available.

    Args:
        composition: Adapters.
        name: A row, a lock, or None for the lock in this directory.
        named: Sources of the command line.
        tensorflow: Patch release that the command line asks for; only for a row.

    Raises:
        UsageError: Nothing of that name; or a lock that its spec has left behind.
    """
    meant = target(composition.catalog, name, tensorflow=tensorflow)
    if isinstance(meant, LockTarget):
        lock, sources = known_lock(composition, name, named, tensorflow=tensorflow)
        tell_lock(composition, lock, sources)
        return lock, sources
    try:
        return obtain_lock(composition, name, named, tensorflow=tensorflow)
    except NoUsableBase as error:
        composition.say(error.message)
        return known_lock(composition, name, named, tensorflow=tensorflow)


def _there(
    composition: Composition, there: LockTarget, named: Sources, base: str, tensorflow: Version | None
) -> tuple[Lock, Sources]:
    if tensorflow:
        raise UsageError(
            f"{there.path} has its TensorFlow already",
            hint=f'put `tensorflow: "{tensorflow}"` into the spec and lock again',
        )
    if base:
        raise UsageError(f"{there.path} has its base already", hint=f"put `base: {base}` into the spec and lock again")
    spec = there.spec or Spec(environment=there.lock.environment)
    _refuse_stale(composition, there)
    composition.keep_files(spec.files)
    return _named(composition, there), with_sources(spec, named).sources


def _refuse_unpinned(there: LockTarget) -> None:
    if there.lock.unpinned:
        raise UsageError(
            f"{there.path} cannot be built: it does not pin {'; '.join(there.lock.unpinned)}",
            hint="run `envbuilder lock` where they are available, such as with --registry-mirror HOST[:PORT]",
        )


def _named(composition: Composition, there: LockTarget) -> Lock:
    """Return a lock with the name that its image gets."""
    lock = there.lock
    rows = {row.id for row in composition.catalog.environments}
    return replace(lock, name=lock.name or default_name(there.path, lock.environment, rows))


def _refuse_stale(composition: Composition, there: LockTarget) -> None:
    if there.spec is None:
        return
    changes = check(composition.catalog, there.spec, there.lock)
    if changes:
        listing = "\n".join(f"  {change}" for change in changes)
        raise UsageError(
            f"{there.path} is stale; changed since it was made:\n{listing}",
            hint="`envbuilder lock`, then build again",
        )


def _cached(composition: Composition, spec: Spec) -> Lock:
    kept = _kept(composition, spec)
    if kept is not None:
        return kept
    path = _path(composition, spec)
    made = locked(composition, spec)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, dump(made))
    composition.say(f"wrote the lock {path}")
    return made


def _kept(composition: Composition, spec: Spec) -> Lock | None:
    """Return the lock of the cache for a row, if there is one that is up to date."""
    path = _path(composition, spec)
    kept = _read(path)
    if kept is None or not _holds(composition, spec, kept):
        return None
    composition.say(f"using the lock {path}")
    return kept


def _path(composition: Composition, spec: Spec) -> Path:
    return composition.settings.use("locks") / _name(spec) / "envbuilder.lock"


def keep_image(composition: Composition, made: Lock) -> None:
    """Write the image that a lock became into the lock of the cache directory that it is, if it is one of those.

    Only locks of its environment are read: `_name` begins with the environment.
    """
    locks = composition.settings.use("locks")
    for pattern in (made.environment, f"{made.environment}@*"):
        for path in sorted(locks.glob(f"{pattern}/envbuilder.lock")):
            kept = _read(path)
            if kept is not None and kept.image != made.image and digest(kept) == digest(made):
                write_text(path, dump(replace(kept, image=made.image)))


def _holds(composition: Composition, spec: Spec, kept: Lock) -> bool:
    """Whether a kept lock is what a new one would be: everybody who builds a row gets what it ships with."""
    catalog = composition.catalog
    own = {(pin.name, pin.sha256) for pin in (composition.probe_pin(), composition.hook_pin())}
    named = {(pin.name, pin.sha256) for pin in kept.tools}
    return own <= named and not check(catalog, spec, kept) and as_shipped(catalog, spec, kept, composition.closures)


def _name(spec: Spec) -> str:
    return "@".join(filter(None, (spec.environment, str(spec.tensorflow or ""), spec.base)))


def _read(path: Path) -> Lock | None:
    """A lock of the cache folder; one that cannot be read is made again."""
    try:
        return read_lock(path) if path.is_file() else None
    except InvalidInput:
        return None

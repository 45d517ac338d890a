"""The lock of a target: the one that is there, or one made in the cache folder for a row without a spec."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from packaging.version import Version

from envbuilder.cli.composition import Composition
from envbuilder.cli.targets import LockTarget, RowTarget, read_lock, target, write_text
from envbuilder.errors import InvalidInput, UsageError
from envbuilder.locking.lockfile import digest, dump
from envbuilder.locking.spec import with_sources
from envbuilder.model.locks import Lock, Sources, Spec
from envbuilder.workflows.lock import as_shipped, check, lock


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
        UsageError: Nothing of that name; or a lock that its spec has left behind.
    """
    match target(composition.catalog, name, tensorflow=tensorflow):
        case LockTarget() as there:
            if tensorflow:
                raise UsageError(
                    f"{there.path} has its TensorFlow already",
                    hint=f'put `tensorflow: "{tensorflow}"` into the spec and lock again',
                )
            if base:
                raise UsageError(
                    f"{there.path} has its base already", hint=f"put `base: {base}` into the spec and lock again"
                )
            spec = there.spec or Spec(environment=there.lock.environment)
            _refuse_stale(composition, there)
            composition.keep_files(spec.files)
            return there.lock, with_sources(spec, named).sources
        case RowTarget(spec=spec):
            wanted = with_sources(replace(spec, base=base), named)
            return _cached(composition, wanted), wanted.sources


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
    path = composition.places.cache / "locks" / _name(spec) / "envbuilder.lock"
    kept = _read(path)
    if kept is not None and _holds(composition, spec, kept):
        composition.say(f"using the lock {path}")
        return kept
    made = lock(composition.catalog, spec, composition.lock_ports(spec))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, dump(made))
    composition.say(f"wrote the lock {path}")
    return made


def keep_image(composition: Composition, made: Lock) -> None:
    """Write the image that a lock became into the lock of the cache folder that it is, if it is one of those."""
    for path in sorted((composition.places.cache / "locks").glob("*/envbuilder.lock")):
        kept = _read(path)
        if kept is not None and digest(kept) == digest(made) and kept.image != made.image:
            write_text(path, dump(made))


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

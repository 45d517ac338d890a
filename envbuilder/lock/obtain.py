"""Retrieval of the lock that a command needs: from a file, from the cache, or newly made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.version import Version

from envbuilder.catalog.environments import Catalog
from envbuilder.core.canonical_json import inputs_digest
from envbuilder.core.errors import InvalidInput, UsageError
from envbuilder.core.files import write_text
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock, ToolPin
from envbuilder.lock.lockfile import digest, dump, read_lock
from envbuilder.lock.profiles import ChosenProfile
from envbuilder.lock.resolve.shipped_closures import ShippedClosures
from envbuilder.lock.spec import Spec, with_sources
from envbuilder.lock.staleness import as_shipped, out_of_date, staleness
from envbuilder.lock.targets import LockTarget, default_name

_DIGITS = 12


def lock_of_file(
    catalog: Catalog, there: LockTarget, named: Sources, *, base: str = "", tensorflow: Version | None = None
) -> tuple[Lock, Sources]:
    """Return the lock of a file with the name of its image, and the sources to use.

    Args:
        catalog: The environments.
        there: The file, and the spec beside it.
        named: Sources of the command line.
        base: Base of the command line; only valid for an environment.
        tensorflow: Patch release of the command line; only valid for an environment.

    Raises:
        UsageError: The spec has changed since the lock was made; or `base` or `tensorflow` is set.
    """
    if tensorflow:
        raise UsageError(
            f"{there.path} already pins TensorFlow",
            hint=f'put `tensorflow: "{tensorflow}"` into the spec, then run `envbuilder lock`',
        )
    if base:
        raise UsageError(
            f"{there.path} already pins its base", hint=f"put `base: {base}` into the spec, then run `envbuilder lock`"
        )
    _refuse_stale(catalog, there)
    spec = there.spec or Spec(environment=there.lock.environment)
    rows = {row.id for row in catalog.environments}
    name = there.lock.name or default_name(there.path, there.lock.environment, rows)
    return replace(there.lock, name=name), with_sources(spec, named).sources


def refuse_unpinned(lock: Lock, name: str) -> None:
    """Raise UsageError if a lock does not pin everything.

    Raises:
        UsageError: It cannot be built.
    """
    if lock.unpinned:
        raise UsageError(
            f"{name} cannot be built: it does not pin {'; '.join(lock.unpinned)}",
            hint="run `envbuilder lock` where these are available, for example with --registry-mirror HOST[:PORT]",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LockCache:
    """Cache of locks of environments without a spec.

    Attributes:
        shipped: Packages shipped with the environments.
        own_tools: The tools of this version of envbuilder.
    """

    folder: Path
    catalog: Catalog
    shipped: ShippedClosures
    own_tools: tuple[ToolPin, ...]
    progress: Callable[[str], None]

    def find(self, spec: Spec) -> Lock | None:
        """Return the lock of a spec; None if there is none, or if a new one would differ."""
        path = self._path(spec)
        kept = _read(path)
        if kept is None or not self._is_current(spec, kept):
            return None
        self.progress(f"using the lock {path}")
        return kept

    def obtain(self, spec: Spec, locker: Callable[[Spec], Lock]) -> Lock:
        """Return the lock of a spec; make and keep it if there is no current one."""
        kept = self.find(spec)
        if kept is not None:
            return kept
        return _keep(self._path(spec), locker(spec), self.progress)

    def _path(self, spec: Spec) -> Path:
        name = "@".join(
            filter(None, (spec.environment, str(spec.tensorflow or ""), spec.base, "+".join(spec.profiles)))
        )
        return self.folder / name / "envbuilder.lock"

    def _is_current(self, spec: Spec, kept: Lock) -> bool:
        """Return True if a new lock would be the same: builds of an environment have its shipped packages."""
        own = {(pin.name, pin.sha256) for pin in self.own_tools}
        named = {(pin.name, pin.sha256) for pin in kept.tools}
        return (
            own <= named
            and not staleness(self.catalog, spec, kept)
            and as_shipped(self.catalog, spec, kept, self.shipped)
        )


def obtain_with_profile(
    folder: Path, lock: Lock, profile: ChosenProfile, extend: Callable[[], Lock], progress: Callable[[str], None]
) -> Lock:
    """Return a lock with a profile; make and keep it if there is none for this lock and these packages."""
    key = inputs_digest({"lock": digest(lock), "profile": profile.id, "requirements": list(profile.requirements)})
    short = key.removeprefix("sha256:")[:_DIGITS]
    path = folder / f"{lock.environment}@{profile.id}@{short}" / "envbuilder.lock"
    kept = _read(path)
    if kept is not None:
        progress(f"using the lock {path}")
        return replace(kept, name=lock.name)
    return _keep(path, extend(), progress)


def _keep(path: Path, made: Lock, progress: Callable[[str], None]) -> Lock:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, dump(made))
    progress(f"wrote the lock {path}")
    return made


def keep_image(folder: Path, made: Lock) -> None:
    """Record the image of a lock in the cached copy of the lock, if there is one."""
    for pattern in (made.environment, f"{made.environment}@*"):
        for path in sorted(folder.glob(f"{pattern}/envbuilder.lock")):
            kept = _read(path)
            if kept is not None and kept.image != made.image and digest(kept) == digest(made):
                write_text(path, dump(replace(kept, image=made.image)))


def _refuse_stale(catalog: Catalog, there: LockTarget) -> None:
    changes = staleness(catalog, there.spec, there.lock) if there.spec else ()
    if changes:
        listing = "\n".join(f"  {change}" for change in changes)
        raise UsageError(
            f"{out_of_date(there.path)}\n{listing}",
            hint="`envbuilder lock`, then build again",
        )


def _read(path: Path) -> Lock | None:
    """Return a lock of the cache; None if it cannot be read, in which case it is made again."""
    try:
        return read_lock(path) if path.is_file() else None
    except InvalidInput:
        return None

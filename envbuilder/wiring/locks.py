"""The lock that a command line names, with everything pinned or as far as it is known without fetching."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

from packaging.version import Version

from envbuilder.catalog.buildable import passed_over
from envbuilder.catalog.environments import BaseChoice, BaseKind, BaseSystem, PythonProvider
from envbuilder.catalog.selection import select
from envbuilder.core.errors import NoUsableBase, SourceUnreachable
from envbuilder.core.image_paths import privileged_allowed
from envbuilder.core.uv_process import TIME_LIMIT
from envbuilder.core.versions import Release
from envbuilder.image.base.locate import PythonArchives, pin_of_tree
from envbuilder.image.base.python_survey import PythonArchive
from envbuilder.image.pinned_files import keep_own_files
from envbuilder.lock import obtain
from envbuilder.lock.base_remedies import explained
from envbuilder.lock.create import lock
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import BasePin, Lock
from envbuilder.lock.spec import Spec, with_sources
from envbuilder.lock.targets import LockTarget, target
from envbuilder.lock.unpinned import UnpinnedBases, UnpinnedOsPackages, UnpinnedPythons
from envbuilder.wiring.build_inputs import pinned_files
from envbuilder.wiring.ingredients import ingredient_sources
from envbuilder.wiring.inventory import inventory
from envbuilder.wiring.layer_caches import holds_base
from envbuilder.wiring.mirrors import configured_archives
from envbuilder.wiring.session import Session
from envbuilder.wiring.shipped_packages import closures
from envbuilder.wiring.trust import report_lock_trust


def unpinned_lock(session: Session, spec: Spec, *, upgrade: date | None = None, seconds: float = TIME_LIMIT) -> Lock:
    """Return the lock of a spec with the pins that are known without fetching a base or an interpreter.

    Ingredients of the cache are pinned. Packages are those that ship with the row; if there are none, and for own
    packages, the index is asked. `seconds` is the time for one resolution.

    Raises:
        UsageError: The row does not have the base or interpreter of the spec.
        ResolutionFailed: The packages conflict.
        SourceUnreachable: The packages have to be resolved, and the index does not answer.
    """
    row = select(session.catalog, spec.environment, spec.tensorflow)
    available = inventory(session.settings, session.catalog, spec.sources)
    candidates = [choice for choice in row.bases if _is_candidate(choice, spec)]
    bases = UnpinnedBases(
        kept=lambda system: _kept(session, system, spec), refused=passed_over(row, candidates, available)
    )
    known = replace(
        ingredient_sources(session, spec, seconds=seconds),
        bases=dict.fromkeys(BaseKind, bases),
        pythons=UnpinnedPythons(kept=_packed_before(session)),
        os_packages=UnpinnedOsPackages(),
    )
    session.progress(f"resolving {row.id} without fetching its base")
    return lock(session.catalog, spec, known, upgrade=upgrade)


def _kept(session: Session, system: BaseSystem, spec: Spec) -> BasePin | None:
    tree = session.trees.current(system.id) if system.kind.is_tree else None
    if tree is None or privileged_allowed(spec.allow).intersection(tree.cleared or ()):
        return None
    return pin_of_tree(tree, system.kind)


def _packed_before(session: Session) -> PythonArchives:
    return PythonArchives(
        store=session.files,
        fetch=_fetch_nothing,
        installed=lambda _version, _glibc: (),
        configured=configured_archives(session.settings),
    )


def _fetch_nothing(version: Release, _folder: Path) -> PythonArchive:
    raise SourceUnreachable(f"no archive of Python {version} is in the cache")


def _is_candidate(choice: BaseChoice, spec: Spec) -> bool:
    has_python = spec.python in {None, choice.python} or choice.python_provider is PythonProvider.ARCHIVE
    return has_python and spec.base in {"", choice.system.id}


def locked(session: Session, spec: Spec, *, upgrade: date | None = None, before: Lock | None = None) -> Lock:
    """Return a new lock of a spec; see `lock`.

    If this machine lacks the base of `before`, the lock that the new one replaces, and a layer cache holds it, that
    base is kept, unless `upgrade` is set.

    Raises:
        NoUsableBase: As `lock` raises it, with every known reason for each base, and a hint without repeated
            attempts.
    """
    asked = before if before and not upgrade and session.trees.current(before.base.id) is None else None
    kept = asked if asked and holds_base(session, spec.sources, asked) else None
    ingredients = replace(ingredient_sources(session, spec), kept=kept)
    try:
        return lock(session.catalog, spec, ingredients, upgrade=upgrade, progress=session.progress)
    except NoUsableBase as error:
        row = select(session.catalog, spec.environment, spec.tensorflow)
        available = inventory(session.settings, session.catalog, spec.sources)
        raise explained(error, session.catalog, row, available) from error


def obtain_lock(
    session: Session, name: str | None, named: Sources, *, base: str = "", tensorflow: Version | None = None
) -> tuple[Lock, Sources]:
    """Return the lock that a command line names, and its sources.

    The name is that of a row or a lock; None for the lock in this directory. Base and patch release are for rows only:
    a lock has chosen.

    Raises:
        UsageError: The name is unknown; or the lock is older than its spec, or does not pin everything.
        NoUsableBase: No base of the row is available.
    """
    match target(session.catalog, name, tensorflow=tensorflow):
        case LockTarget() as there:
            obtain.refuse_unpinned(there.lock, str(there.path))
            found, sources = _of_file(session, there, named, base, tensorflow)
            report_lock_trust(session, found, sources)
            return found, sources
        case Spec() as spec:
            wanted = with_sources(replace(spec, base=base), named)
            return _lock_cache(session).obtain(wanted, partial(locked, session)), wanted.sources


def known_lock(
    session: Session, name: str | None, named: Sources, *, base: str = "", tensorflow: Version | None = None
) -> tuple[Lock, Sources]:
    """Return the lock that a command line names, without fetching a base or an interpreter for it.

    Arguments as for `obtain_lock`.

    Returns:
        A lock that may leave ingredients unpinned (`Lock.unpinned`), and the sources.

    Raises:
        UsageError: The name is unknown; or the lock is older than its spec.
    """
    match target(session.catalog, name, tensorflow=tensorflow):
        case LockTarget() as there:
            return _of_file(session, there, named, base, tensorflow)
        case Spec() as spec:
            wanted = with_sources(replace(spec, base=base), named)
            return _lock_cache(session).find(wanted) or unpinned_lock(session, wanted), wanted.sources


def renderable_lock(
    session: Session, name: str | None, named: Sources, *, tensorflow: Version | None = None
) -> tuple[Lock, Sources]:
    """Return a lock with everything pinned, or an unpinned one if no base of a row is available.

    Arguments as for `obtain_lock`.

    Raises:
        UsageError: The name is unknown; or the lock is older than its spec.
    """
    meant = target(session.catalog, name, tensorflow=tensorflow)
    if isinstance(meant, LockTarget):
        found, sources = known_lock(session, name, named, tensorflow=tensorflow)
        report_lock_trust(session, found, sources)
        return found, sources
    try:
        return obtain_lock(session, name, named, tensorflow=tensorflow)
    except NoUsableBase as error:
        session.progress(error.message)
        return known_lock(session, name, named, tensorflow=tensorflow)


def _lock_cache(session: Session) -> obtain.LockCache:
    """Return the locks of rows that were locked without a spec."""
    return obtain.LockCache(
        folder=session.settings.use("locks"),
        catalog=session.catalog,
        shipped=closures(session.settings, session.catalog),
        own_tools=pinned_files(session).own_pins(),
        progress=session.progress,
    )


def keep_image(session: Session, made: Lock) -> None:
    """Write the image of a lock into the same lock of the cache, if it is there."""
    obtain.keep_image(session.settings.use("locks"), made)


def _of_file(
    session: Session, there: LockTarget, named: Sources, base: str, tensorflow: Version | None
) -> tuple[Lock, Sources]:
    found = obtain.lock_of_file(session.catalog, there, named, base=base, tensorflow=tensorflow)
    keep_own_files(there.spec.files if there.spec else (), session.store)
    return found

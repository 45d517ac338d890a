"""Locks without fetched base and interpreter, for commands that only describe an image."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

from envbuilder.catalog.buildable import passed_over
from envbuilder.catalog.environments import BaseChoice, BaseKind, BaseSystem, PythonProvider
from envbuilder.catalog.selection import select
from envbuilder.core.errors import SourceUnreachable
from envbuilder.core.image_paths import privileged_allowed
from envbuilder.core.uv_process import TIME_LIMIT
from envbuilder.core.versions import Release
from envbuilder.image.base.locate import PythonArchives, pin_of_tree
from envbuilder.image.base.python_survey import PythonArchive
from envbuilder.lock.create import lock
from envbuilder.lock.lock import BasePin, Lock
from envbuilder.lock.spec import Spec
from envbuilder.lock.unpinned import UnpinnedBases, UnpinnedOsPackages, UnpinnedPythons
from envbuilder.wiring.ingredients import ingredient_sources
from envbuilder.wiring.inventory import inventory
from envbuilder.wiring.mirrors import configured_archives
from envbuilder.wiring.session import Session


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

"""Another Python for a project whose pins have no wheels for the chosen one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from packaging.requirements import InvalidRequirement, Requirement

from envbuilder.catalog.advise.advice import Advice, Query
from envbuilder.catalog.environments import Catalog
from envbuilder.lock.adopt import EnvironmentChoice, choose_environment, requested_versions
from envbuilder.lock.adopted_packages import PackageChange
from envbuilder.lock.adoption import Adoption, OtherPython
from envbuilder.lock.index.index import Index
from envbuilder.lock.project.clues import ClueKind
from envbuilder.lock.project.conclusions import Conclusions
from envbuilder.lock.resolve.tensorflow_distributions import DISTRIBUTIONS
from envbuilder.lock.resolve.wheel_files import best


def other_python(catalog: Catalog, adoption: Adoption, machine: Query, index: Index) -> OtherPython | None:
    """Return another Python for which all pins have wheels that lack one for the chosen Python; None if there is none.

    A pin without a wheel for any of these Pythons is ignored: no choice keeps it. The environment is the one that is
    chosen for the project with that Python, by the same rules; it gives up no condition that the chosen one meets. The
    chosen minor release of TensorFlow is preferred, then newer Pythons. Packages that did not have to change, and
    conflicts, are not examined.

    Args:
        catalog: The environments.
        adoption: What was concluded from the project, its environment, and the packages that had to change.
        machine: As for the choice of the environment.
        index: States the files of a release.

    Raises:
        SourceUnreachable: The index does not respond.
    """
    chosen = adoption.choice.advice
    if chosen is None:
        return None
    released = {pin: files for pin, files in _files(adoption.changes, index) if not _has_wheel(catalog, files, chosen)}
    others = tuple(_others(catalog, adoption.found, machine, adoption.choice)) if any(released.values()) else ()
    pins = {pin: files for pin, files in released.items() if any(_has_wheel(catalog, files, each) for each in others)}
    fitting = [each for each in others if pins and all(_has_wheel(catalog, files, each) for files in pins.values())]
    nearest = max(fitting, key=lambda each: (_minor(each) == _minor(chosen), each.python), default=None)
    return OtherPython(advice=nearest, pins=tuple(pins)) if nearest else None


def _files(changes: Iterable[PackageChange], index: Index) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each pin to one version that was changed, with the files of that release."""
    for change in changes:
        version = _pinned(change.before)
        if version and change.package not in DISTRIBUTIONS:
            yield change.before, tuple(file.file for file in index.files(change.package, version))


def _pinned(requirement: str) -> str:
    """Return the only version that a requirement accepts; empty if there are several."""
    try:
        parts = list(Requirement(requirement).specifier)
    except InvalidRequirement:
        return ""
    exact = len(parts) == 1 and parts[0].operator == "==" and not parts[0].version.endswith(".*")
    return parts[0].version if exact else ""


def _has_wheel(catalog: Catalog, files: Iterable[str], advice: Advice) -> bool:
    glibc = next(base.glibc for base in catalog.bases if base.id == advice.base)
    return best(files, advice.python, glibc) is not None


def _others(catalog: Catalog, found: Conclusions, machine: Query, choice: EnvironmentChoice) -> Iterator[Advice]:
    """Yield the environment that is chosen with each other Python of the catalog, if there is one."""
    chosen = choice.advice.python.series if choice.advice else ""
    given_up = {each.clue.kind for each in choice.given_up}
    for series in sorted({python.series for row in catalog.environments for python in row.pythons} - {chosen}):
        asked = {clue.kind: clue for clue in requested_versions(None, series)}
        also = replace(found, versions={**found.versions, **asked})
        other = choose_environment(catalog, also, machine, choice.newest)
        lost = {each.clue.kind for each in other.given_up} - (given_up - {ClueKind.PYTHON})
        if other.advice and not lost:
            yield other.advice


def _minor(advice: Advice) -> tuple[int, ...]:
    return advice.tensorflow.release[:2]

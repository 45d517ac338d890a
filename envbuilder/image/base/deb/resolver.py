"""Resolver for the packages of a base; its result is deterministic."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from envbuilder.core.errors import ResolutionFailed
from envbuilder.image.base.deb.packages import Package, PackageIndex, Relationship
from envbuilder.image.base.deb.versions import fits
from envbuilder.lock.lock import OsPackagePin

MINIMAL = ("apt", "base-files", "base-passwd", "libc-bin")
"""Installed in addition to the essential packages, so that users can install more on top of an image."""

_PREFERRED = ("usr-is-merged", "mawk", "debconf")
"""Preferred among alternatives: packages without further dependencies."""


def resolve(
    index: PackageIndex, wanted: Iterable[str], *, have: Iterable[OsPackagePin] = ()
) -> tuple[OsPackagePin, ...]:
    """Return some packages with all their dependencies.

    Args:
        index: The suite.
        wanted: Names, or `name=version`.
        have: Installed packages; they are not in the result, and they stay as they are.

    Returns:
        Sorted by name, with file, size and sha256.

    Raises:
        ResolutionFailed: A package does not exist, or two of them conflict.
    """
    search = _Search(index=index, have={pin.name: pin.version for pin in have})
    for name in sorted(wanted):
        package, _, version = name.partition("=")
        search.add(Relationship(name=package, relation="=" if version else "", version=version), "what was asked for")
    search.run()
    search.refuse_conflicts()
    return tuple(
        OsPackagePin(
            name=package.name, version=package.version, sha256=package.sha256, file=package.file, size=package.size
        )
        for _, package in sorted(search.chosen.items())
    )


def base_packages(index: PackageIndex, wanted: Iterable[str]) -> tuple[OsPackagePin, ...]:
    """Return a minimal system with some packages; errors as in `resolve`."""
    return resolve(index, {*index.essential, *MINIMAL, *wanted})


@dataclass(kw_only=True)
class _Search:
    index: PackageIndex
    have: Mapping[str, str]
    chosen: dict[str, Package] = field(default_factory=dict)
    _queue: deque[Package] = field(default_factory=deque)
    _virtual: dict[str, list[Package]] = field(default_factory=dict)

    def run(self) -> None:
        while self._queue:
            package = self._queue.popleft()
            for clause in package.depends:
                if not any(self._is_met(term) for term in clause):
                    self._choose(clause, package.name)

    def add(self, term: Relationship, by: str) -> None:
        if not self._is_met(term):
            self._choose((term,), by)

    def refuse_conflicts(self) -> None:
        for package in self.chosen.values():
            for term in package.conflicts:
                other = self.chosen.get(term.name)
                version = other.version if other else self.have.get(term.name)
                if version and term.name != package.name and _fits(version, term):
                    raise ResolutionFailed(
                        f"{package.name} {package.version} conflicts with {term.name} {version}",
                        hint="remove one of them from `apt:`",
                    )

    def _is_met(self, term: Relationship) -> bool:
        package = self.chosen.get(term.name)
        version = package.version if package else self.have.get(term.name)
        if version and _fits(version, term):
            return True
        return any(_provides(each, term) for each in self._virtual.get(term.name, ()))

    def _choose(self, clause: tuple[Relationship, ...], by: str) -> None:
        ordered = sorted(clause, key=lambda term: term.name not in _PREFERRED)
        for term in ordered:
            package = self.index.find(term.name)
            if package and _fits(package.version, term) and not self._is_moved(package):
                self._take(package)
                return
        for term in ordered:
            for package in self.index.providers(term.name):
                if _provides(package, term) and not self._is_moved(package):
                    self._take(package)
                    return
        raise ResolutionFailed(
            f"no package is available for {' | '.join(map(str, clause))}, which {by} needs",
            hint="check the name under `apt:`; the archive may have another version now: run `envbuilder lock`",
        )

    def _is_moved(self, package: Package) -> bool:
        """Return True if a package is installed or chosen already, so that another version would replace it."""
        return package.name in self.have or package.name in self.chosen

    def _take(self, package: Package) -> None:
        self.chosen[package.name] = package
        self._queue.append(package)
        for term in package.provides:
            self._virtual.setdefault(term.name, []).append(package)


def _fits(version: str, term: Relationship) -> bool:
    return not term.relation or fits(version, term.relation, term.version)


def _provides(package: Package, term: Relationship) -> bool:
    """Return True if a package satisfies a requirement; one with a version needs a versioned `Provides`."""
    return any(
        each.name == term.name and (not term.relation or (bool(each.version) and _fits(each.version, term)))
        for each in package.provides
    )

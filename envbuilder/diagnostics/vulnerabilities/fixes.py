"""Fixes of vulnerabilities within the bounds of an environment, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from packaging.requirements import Requirement
from packaging.version import Version

from envbuilder.catalog.environments import Catalog, Constraint, Environment
from envbuilder.core.names import requirement_name
from envbuilder.diagnostics.findings import Remedy
from envbuilder.diagnostics.vulnerabilities.components import Component
from envbuilder.lock.lock import Lock, PackageGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixable:
    """A fixed version is within the bounds.

    Attributes:
        remedy: How to get it.
    """

    remedy: Remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class OutOfBounds:
    """A fixed version exists, but not for this environment.

    Attributes:
        reason: The bound that it exceeds, and why that exists.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class NoFix:
    """No document names a fixed version."""


Fix: TypeAlias = Fixable | OutOfBounds | NoFix


def fix_of(component: Component, fixed: str, lock: Lock, catalog: Catalog) -> Fix:
    """Return whether and how a vulnerable component can be replaced by a fixed version.

    `fixed` is the next version without the vulnerability; empty if none is named. The bounds of an environment that the
    catalog lacks are not known.
    """
    row = catalog.environment(lock.environment)
    if not fixed:
        return NoFix()
    if not component.is_python:
        return _of_system(component, lock)
    if component.name == lock.framework:
        return _of_framework(Version(fixed), row, catalog)
    if component.group is PackageGroup.CUDA:
        return OutOfBounds(reason="the CUDA libraries are part of the environment")
    if bound := _bound(component.name, Version(fixed), row):
        return OutOfBounds(reason=f"the environment requires {bound.requirement}: {bound.advisory.title}")
    return Fixable(remedy=_raised(component.name, fixed, row))


def _of_system(component: Component, lock: Lock) -> Fix:
    suite = lock.base.id.removeprefix(f"{lock.base.kind.value}-")
    if lock.base.kind.is_tree and set(component.packages) & {pin.name for pin in lock.base.packages}:
        return Fixable(
            remedy=Remedy(
                text="create the base from the current packages of the distribution, and lock again",
                command=f"envbuilder base bootstrap {suite}\nenvbuilder lock",
            )
        )
    return Fixable(
        remedy=Remedy(text="lock again, with the current packages of the distribution", command="envbuilder lock")
    )


def _of_framework(fixed: Version, row: Environment | None, catalog: Catalog) -> Fix:
    if row is None:
        return OutOfBounds(reason="TensorFlow is the environment")
    patches = sorted(version for version in _releases(row) if version >= fixed)
    if patches:
        return Fixable(
            remedy=Remedy(
                text=f'take the patch release {patches[0]}: `tensorflow: "{patches[0]}"` in envbuilder.yaml',
                command=f"envbuilder build {row.id} --tensorflow {patches[0]}",
            )
        )
    later = [
        (version, other.id)
        for other in catalog.environments
        if bool(other.cuda) == bool(row.cuda)
        for version in _releases(other)
        if version >= fixed
    ]
    place = f"; the first environment with a fixed release is {min(later)[1]}" if later else ""
    return OutOfBounds(reason=f"TensorFlow is the environment{place}")


def _releases(row: Environment) -> Iterator[Version]:
    yield row.framework.version
    yield from (other.version for other in row.framework.others)


def _bound(name: str, fixed: Version, row: Environment | None) -> Constraint | None:
    """Return the bound of an environment that excludes a version of a package; None if none does."""
    bounds = (*row.constraints, *row.additions) if row else ()
    return next(
        (
            bound
            for bound in bounds
            if requirement_name(bound.requirement) == name
            and not Requirement(bound.requirement).specifier.contains(fixed, prereleases=True)
        ),
        None,
    )


def _raised(name: str, fixed: str, row: Environment | None) -> Remedy:
    cutoff = f", and a later `cutoff:` if it was uploaded after {row.cutoff}" if row else ""
    return Remedy(
        text=f'add "{name}>={fixed}" to `packages:` in envbuilder.yaml{cutoff}, and lock again; that is refused if a '
        "requirement of TensorFlow or of another package excludes it",
        command="envbuilder lock",
    )

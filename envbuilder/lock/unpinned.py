"""Ingredients named without a digest, if they cannot be downloaded or need not be.

A lock with any of them states packages, versions, CUDA and driver from the catalog. It cannot be built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from envbuilder.catalog.environments import BaseChoice, BaseKind, BaseSystem, PythonProvider
from envbuilder.core.versions import Release
from envbuilder.lock.base_choice import Located, OsPackages, PythonSource, Refused
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import BasePin, OsPackagePin, PythonPin
from envbuilder.lock.spec import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpinnedBases:
    """Bases by name, with a digest if it is known without a look-up.

    Attributes:
        kept: Returns the pin of a cached base; None if it is not cached.
        refused: Bases that must not be used, and why.
    """

    kept: Callable[[BaseSystem], BasePin | None]
    refused: dict[str, str] = field(default_factory=dict)

    def locate(self, system: BaseSystem, sources: Sources) -> BasePin | Refused:  # noqa: ARG002  the port names them
        """See `BaseSource.locate`."""
        if system.id in self.refused:
            return Refused(base=system.id, reason=self.refused[system.id])
        known = self.kept(system)
        if known is not None:
            return known
        is_image = system.kind is BaseKind.IMAGE
        return BasePin(
            id=system.id, kind=system.kind, image=system.image, digest=system.digest if is_image else "", packages=()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpinnedPythons:
    """Interpreter archives of the cache, or the version alone.

    Attributes:
        kept: Finds cached archives; downloads nothing.
    """

    kept: PythonSource

    def locate(self, version: Release, glibc: Release, sources: Sources) -> PythonPin | Refused:
        """See `PythonSource.locate`."""
        found = self.kept.locate(version, glibc, sources)
        if isinstance(found, PythonPin):
            return found
        file = f"cpython-{version}-x86_64-linux-gnu.tar.gz"
        return PythonPin(version=version, provider=PythonProvider.ARCHIVE, file=file)


class UnpinnedOsPackages:
    """OS packages by name, with a version if the environment gives one."""

    def refusal(self, choice: BaseChoice) -> Refused | None:  # noqa: ARG002
        """See `OsResolver.refusal`."""
        return None

    def resolve(self, located: Located, packages: tuple[str, ...], spec: Spec) -> OsPackages:  # noqa: ARG002
        """See `OsResolver.resolve`."""
        pairs = (package.partition("=") for package in packages)
        return OsPackages(pins=tuple(OsPackagePin(name=name, version=version) for name, _, version in pairs))

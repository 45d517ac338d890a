"""Resolution of OS packages on a base: from the lists of a package archive, or by apt inside a registry image."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.catalog.environments import BaseChoice
from envbuilder.core.errors import EngineUnavailable
from envbuilder.image.docker.engine_bases import EngineBases
from envbuilder.lock.base_choice import Located, OsPackages, Refused
from envbuilder.lock.resolve.apt import AptResolver
from envbuilder.lock.spec import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class OsPackageResolver:
    """The resolver of OS packages for locks."""

    bases: EngineBases
    apt: AptResolver

    def refusal(self, choice: BaseChoice) -> Refused | None:
        """See `OsResolver.refusal`."""
        if choice.system.kind.is_tree:
            return None
        try:
            self.bases.engine.info()
        except EngineUnavailable as error:
            reason = "installing OS packages on a registry image requires a container engine, and none is available"
            return Refused(base=choice.system.id, reason=reason, hint=error.hint)
        return None

    def resolve(self, located: Located, packages: tuple[str, ...], spec: Spec) -> OsPackages:  # noqa: ARG002  the port names it
        """See `OsResolver.resolve`."""
        if located.base.kind.is_tree:
            return self.bases.debian.resolve(located.choice.system, packages, located.base.packages)
        image = self.bases.provide_image(located.base)
        # A registry image has a configuration of apt of its own.
        return OsPackages(pins=self.apt.resolve(image, packages))

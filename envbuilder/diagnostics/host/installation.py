"""The installed TensorFlow beside the catalog and its machine, for the findings about versions."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cached_property

from envbuilder.catalog.buildable import Buildability
from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.machine import Host
from envbuilder.catalog.offers import Offer
from envbuilder.catalog.verdicts import Fit
from envbuilder.diagnostics.findings import Remedy
from envbuilder.diagnostics.host.examination import Nearest
from envbuilder.diagnostics.host.installed import Installed
from envbuilder.diagnostics.host.nearest_environment import row_of


@dataclass(frozen=True, kw_only=True)
class Installation:
    """An installed TensorFlow with the catalog and its machine.

    Attributes:
        environments: Environments with their compatibility with the machine and their availability.
    """

    installed: Installed
    catalog: Catalog
    host: Host
    environments: tuple[Offer, ...]
    nearest: Nearest | None

    @cached_property
    def row(self) -> Environment | None:
        """The row of the same minor release and build; None if the catalog has none."""
        release = self.installed.release
        if release is None:
            return None
        cuda = self.installed.is_cuda_build
        return row_of(self.catalog, release, cuda=bool(self.host.gpus) if cuda is None else cuda)

    @cached_property
    def is_catalog_build(self) -> bool:
        """True if this is the build that the row was measured from, as far as its CUDA shows."""
        if self.row is None or self.row.cuda is None or self.is_own_build:
            return False
        cuda = self.installed.cuda
        return cuda is None or cuda.head(2) == self.row.cuda.compiled.head(2)

    @property
    def is_own_build(self) -> bool:
        """True if this release was built by another vendor, such as NVIDIA: facts about the wheel may not apply."""
        return bool(self.installed.release and self.installed.release.local)

    @property
    def has_gpus(self) -> bool:
        """True if the machine has a GPU of NVIDIA."""
        return bool(self.host.gpus)

    @property
    def name(self) -> str:
        """TensorFlow with its release."""
        return f"TensorFlow {self.installed.release}" if self.installed.release else "TensorFlow"

    def pip(self, *arguments: str) -> str:
        """Return a command of pip for this interpreter."""
        return shlex.join((self.installed.python, "-m", "pip", *arguments))

    def build(self, text: str) -> tuple[Remedy, ...]:
        """Return the remedy to build the nearest environment; if it is not available, to search for another."""
        if self.nearest and self.is_available(self.nearest.environment):
            return (Remedy(text=text, command=self.nearest.command),)
        return (Remedy(text="find an environment that runs here", command="envbuilder advise"),)

    def is_available(self, environment: str) -> bool:
        """Return True unless the environment is known not to run on the machine, or cannot be built from here."""
        found = next((each for each in self.environments if each.compatibility.environment == environment), None)
        return bool(found and found.compatibility.fit is not Fit.NO and found.buildable.verdict is not Buildability.NO)

"""The facts of one log with the catalog beside it, and what rules make of them: scores and explanations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from envbuilder.catalog.api_names import ApiMap
from envbuilder.catalog.buildable import Buildability, Inventory, buildable
from envbuilder.catalog.coverage import Part, support_by
from envbuilder.catalog.cuda import Coverage
from envbuilder.catalog.driver_requirements import is_older, need_of
from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.core.versions import Release
from envbuilder.diagnostics.logs.evidence import Evidence, ExtractedFacts, Hit
from envbuilder.diagnostics.logs.signatures import Failures, Role

Scores: TypeAlias = Mapping[str, float]
ScoreRule: TypeAlias = "Callable[[LogFacts, Scores], Scores]"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFacts:
    """A log with the catalog.

    Attributes:
        catalog: The rows and driver tables.
        row: The row of the TensorFlow in question; None if the log does not name it.
        api: Returns the public names of TensorFlow; reading them takes time, so it is called only if necessary.
        inventory: Returns the parts that a build can use on this machine; None if that is irrelevant.
    """

    evidence: Evidence
    extracted: ExtractedFacts
    failures: Failures
    catalog: Catalog
    row: Environment | None
    api: Callable[[], ApiMap]
    inventory: Callable[[], Inventory | None]

    def has(self, *names: str) -> bool:
        """Return True if one of these signatures matched."""
        return self.evidence.has(*names)

    def can_build(self, row: Environment) -> bool:
        """Return False if it is known that an environment cannot be built from here."""
        inventory = self.inventory()
        return inventory is None or buildable(row, inventory).verdict is not Buildability.NO

    @property
    def cuda(self) -> Release | None:
        """The CUDA of the TensorFlow in question."""
        return self.row.cuda.compiled if self.row and self.row.cuda else None

    @property
    def gpu_after_cuda(self) -> bool:
        """True if the libraries of the CUDA in question are older than a GPU of the log, such as CUDA 10 and Ampere."""
        opened = self.evidence.releases("cudart")
        cuda = opened[0] if opened else self.cuda
        row = self.row or next((row for row in self.catalog.environments if _is_built_with(row, cuda)), None)
        if cuda is None or row is None or row.cuda is None:
            return False
        libraries = (cuda, row.cuda.cudnn.compiled)
        return any(
            reason.part is Part.CUDA and reason.coverage is not Coverage.MACHINE_CODE
            for capability in self.extracted.capabilities
            for reason in support_by(self.catalog.cuda, row.cuda, libraries, capability).reasons
        )

    @property
    def newest_of_opened_cuda(self) -> Release | None:
        """The newest minor release of TensorFlow that was built with the CUDA whose libraries the log opens."""
        opened = self.evidence.releases("cudart")
        rows = [row for row in self.catalog.environments if opened and _is_built_with(row, opened[0])]
        versions = [row.framework.version for row in rows]
        return Release(".".join(map(str, max(versions).release[:2]))) if versions else None

    @property
    def driver_floor(self) -> Release | None:
        """The oldest driver for that CUDA."""
        return self.floor_of(self.cuda)

    def floor_of(self, cuda: Release | None) -> Release | None:
        """Return the oldest driver for the libraries of a CUDA release; None if unknown."""
        try:
            return need_of(self.catalog.cuda, cuda, ()).least if cuda else None
        except KeyError:
            return None

    def is_driver_too_old(self, floor: Release | None) -> bool | None:
        """Return True if the driver of the log is older than a bound; None if the log does not name it."""
        driver = self.extracted.driver
        return is_older(driver, floor) if driver and floor else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The problem and the remedy of one cause.

    Attributes:
        cause: One or two sentences.
        fix: One or two sentences.
        commands: To type, in order.
    """

    cause: str
    fix: str
    commands: tuple[str, ...]


def _is_built_with(row: Environment, cuda: Release | None) -> bool:
    return cuda is not None and row.cuda is not None and row.cuda.compiled.head(2) == cuda.head(2)


def first_scores(evidence: Evidence) -> dict[str, float]:
    """Return the score of each class from the weights alone: the strongest signature, and half of the others' weights.

    Returns:
        From 0 to 0.97, by class; classes without evidence are not there.
    """
    doubts: dict[str, float] = {}
    for hit in sorted(evidence.of(Role.CAUSE), key=lambda hit: -hit.signature.weight):
        if hit.signature.fallback:
            continue
        share = hit.signature.weight / 100 * (0.5 if hit.signature.failure in doubts else 1)
        doubts[hit.signature.failure] = doubts.get(hit.signature.failure, 1.0) * (1 - share)
    return {name: min(0.97, 1 - doubt) for name, doubt in doubts.items()}


def at_least(scores: Scores, **wanted: float) -> dict[str, float]:
    """Raise scores that are lower; names with `_` for `-`."""
    raised = {name.replace("_", "-"): value for name, value in wanted.items()}
    return {**scores, **{name: max(value, scores.get(name, 0.0)) for name, value in raised.items()}}


def at_most(scores: Scores, **wanted: float) -> dict[str, float]:
    """Lower scores that are higher; names with `_` for `-`."""
    lowered = {name.replace("_", "-"): value for name, value in wanted.items()}
    return {name: min(value, lowered.get(name, value)) for name, value in scores.items()}


def hits_of(facts: LogFacts, failure: str) -> tuple[Hit, ...]:
    """Return the standing evidence of one class, strongest first."""
    hits = [hit for hit in facts.evidence.of(Role.CAUSE) if hit.signature.failure == failure]
    return tuple(sorted(hits, key=lambda hit: (-hit.signature.weight, hit.first)))

"""Images that a fleet is to run: those of locks, and environments on any of their bases."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.catalog.compatibility import judge_stack
from envbuilder.catalog.cuda import CudaFacts
from envbuilder.catalog.environments import Environment
from envbuilder.catalog.machine import Host
from envbuilder.catalog.node_requirements import RUNS
from envbuilder.catalog.verdicts import Compatibility, Fit, Stack, stack_of
from envbuilder.cluster.image_stack import image_stack
from envbuilder.lock.lock import Lock

_ORDER = tuple(Fit)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetImage:
    """An image that nodes are to run.

    Attributes:
        name: Id of the environment, or the file of the lock.
        stacks: Requirements of the image; one for each base of an environment.
    """

    name: str
    environment: str
    stacks: tuple[Stack, ...]
    is_lock: bool

    @property
    def uses_gpu(self) -> bool:
        """True if it computes on GPUs, so that running on the processor is not enough."""
        return any(stack.need is not None for stack in self.stacks)

    def judged(self, facts: CudaFacts, host: Host) -> Compatibility:
        """Return the verdict of the judge for a machine; of several bases the best, then the one with fewer caveats."""
        verdicts = (judge_stack(facts, stack, host) for stack in self.stacks)
        return min(verdicts, key=lambda verdict: (_ORDER.index(verdict.fit), len(verdict.caveats)))

    def runs(self, fit: Fit) -> bool:
        """Return True if a verdict means that the image does its work: on the GPU if it was built for GPUs."""
        return fit in RUNS or (fit is Fit.CPU_ONLY and not self.uses_gpu)


def image_of_lock(name: str, row: Environment, lock: Lock) -> FleetImage:
    """Return the image of a lock."""
    return FleetImage(name=name, environment=row.id, stacks=(image_stack(row, lock),), is_lock=True)


def image_of_environment(row: Environment) -> FleetImage:
    """Return the image of an environment, on whichever of its bases suits a machine best."""
    stacks = tuple(stack_of(row, choice) for choice in row.bases)
    return FleetImage(name=row.id, environment=row.id, stacks=stacks, is_lock=False)

"""The verdict for an environment whichever base is taken."""

from __future__ import annotations

from envbuilder.catalog.compatibility import judge
from envbuilder.catalog.cuda import CudaFacts
from envbuilder.catalog.environments import Environment
from envbuilder.catalog.machine import Host
from envbuilder.catalog.verdicts import Compatibility, Fit


def judge_environment(facts: CudaFacts, row: Environment, host: Host) -> Compatibility:
    """The best that a base gets; of equal ones the one with fewer caveats."""
    order = tuple(Fit)
    verdicts = [judge(facts, row, choice, host) for choice in row.bases]
    return min(verdicts, key=lambda verdict: (order.index(verdict.fit), len(verdict.caveats)))

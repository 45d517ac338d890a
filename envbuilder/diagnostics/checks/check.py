"""The definition of a check, and conditions under which checks apply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from packaging.version import Version

from envbuilder.catalog.cuda import Linkage
from envbuilder.catalog.expectation import CudaExpectation, Expectation
from envbuilder.diagnostics.checks.results import Failed, NotProven, Outcome, Tier, failure
from envbuilder.diagnostics.facts.facts import Facts, Unseen

Examine: TypeAlias = Callable[[Expectation, Facts], Outcome]
ExamineCuda: TypeAlias = Callable[[CudaExpectation, Facts], Outcome]

RUNNING = frozenset({Tier.CPU, Tier.GPU})
WITH_GPU = frozenset({Tier.GPU})
NO_IMPORT = "TensorFlow did not import"
# Source: the rehearsal on the CPU, 2026-11-21: 1.13.2, 1.15.5, 2.4.4, 2.15.1 and 2.20.0 compile, 1.4.1 leaves the graph
# as it is, 2.0.4 has no such option of tf.function. Releases from 1.5 to 1.12 were not tried.
FUNCTIONS_SINCE = Version("2.0")
XLA_SINCE = Version("1.13")
CPU_ROW = "this is a CPU environment: its TensorFlow cannot use a GPU"


def always(expectation: Expectation) -> bool:  # noqa: ARG001 - one signature for all conditions
    """Return True: the check applies to every environment."""
    return True


def has_cuda(expectation: Expectation) -> bool:
    """Return True for GPU environments."""
    return expectation.cuda is not None


def opens_cuda_late(expectation: Expectation) -> bool:
    """Return True if TensorFlow opens the CUDA libraries after its import."""
    return expectation.cuda is not None and expectation.cuda.need.linkage is Linkage.DLOPEN


def has_functions(expectation: Expectation) -> bool:
    """Return True if TensorFlow has `tf.function`."""
    return expectation.framework_version >= FUNCTIONS_SINCE


def has_xla(expectation: Expectation) -> bool:
    """Return True if XLA compiles on request."""
    version = expectation.framework_version
    return version >= XLA_SINCE and version.release[:2] != (2, 0)


def nowhere(facts: Facts) -> str:  # noqa: ARG001 - one signature for all conditions
    """Return an empty reason: the check applies on every machine."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check.

    Attributes:
        id: Stable kebab-case id.
        tiers: Tiers that it belongs to.
        examine: Compares expectation and facts; pure.
        applies: Condition on the environment; for others it is not in the report. A check of the GPU tier
            applies to every environment, so that a GPU can never be left out silently.
        beside: Returns the reason why it does not apply on this machine, such as a single GPU; empty if
            it applies. It is then listed as not proven by this run, and is no result.
    """

    id: str
    title: str
    tiers: frozenset[Tier]
    examine: Examine
    applies: Callable[[Expectation], bool] = always
    beside: Callable[[Facts], str] = nowhere


def on_cuda(examine: ExamineCuda) -> Examine:
    """Return a check of the CUDA side as a check of the whole; not proven for a CPU environment."""

    def whole(expectation: Expectation, facts: Facts) -> Outcome:
        return examine(expectation.cuda, facts) if expectation.cuda else NotProven(reason=CPU_ROW)

    return whole


def not_seen(what: str, fact: Unseen) -> NotProven:
    """Return the outcome for a missing fact."""
    return NotProven(reason=f"{what} could not be determined: {fact.headline}")


def was_tried(fact: Unseen) -> bool:
    """Return True if the probe really tried, so that a missing fact is a failure of the image and not of the probe."""
    return fact.kind not in {"NotAsked", "NotReached"}


def without_tensorflow(what: str, facts: Facts, fact: Unseen) -> NotProven:
    """Return the outcome for a missing fact of TensorFlow: because of the import, or for a reason of its own."""
    return NotProven(reason=NO_IMPORT) if isinstance(facts.imported, Unseen) else not_seen(what, fact)


def no_result(facts: Facts, fact: Unseen, what: str, attempt: str, remedy: str) -> Failed | NotProven:
    """Return the outcome for a step in TensorFlow without a result: failed if it was tried.

    `attempt` names the step in the problem, `what` its result in a reason.
    """
    if not was_tried(fact):
        return without_tensorflow(what, facts, fact)
    return failure(problem=f"{attempt} failed with {fact.summary}", remedy=remedy)

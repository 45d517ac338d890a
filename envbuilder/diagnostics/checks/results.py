"""Outcomes of checks, and the report that contains them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from envbuilder.diagnostics.findings import Finding, Remedy, Severity


class Tier(StrEnum):
    """The extent of a validation: nothing was run, the image was run without a GPU, or with one; or on several nodes.

    Each tier includes those before it, but for `multi-node`, which stands alone: it looks at what several workers do
    together, not at the image.
    """

    STATIC = "static"
    CPU = "cpu"
    GPU = "gpu"
    MULTI_NODE = "multi-node"

    def includes(self, other: Tier) -> bool:
        """Return True if a validation of this tier covers the other tier."""
        if Tier.MULTI_NODE in {self, other}:
            return self is other
        order = list(Tier)
        return order.index(other) <= order.index(self)


OF_ONE_IMAGE = (Tier.STATIC, Tier.CPU, Tier.GPU)
"""Tiers of `validate`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A check that was made and found nothing wrong.

    Attributes:
        seen: The result, in a few words.
    """

    seen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A check that was made and found something wrong.

    Attributes:
        finding: The problem; it has the id of the check in the result of a check.
    """

    finding: Finding


def failure(*, problem: str, remedy: str) -> Failed:
    """Return the outcome of a check that found a problem."""
    return Failed(finding=Finding(id="", severity=Severity.PROBLEM, message=problem, remedies=(Remedy(text=remedy),)))


@dataclass(frozen=True, slots=True, kw_only=True)
class NotProven:
    """A check that could not be made."""

    reason: str


Outcome: TypeAlias = Passed | Failed | NotProven


def outcome_of(check: str, outcome: Outcome) -> Outcome:
    """Return the outcome of a check; its finding gets the id of the check."""
    return Failed(finding=replace(outcome.finding, id=check)) if isinstance(outcome, Failed) else outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check and its outcome.

    Attributes:
        id: Stable kebab-case id of the check.
        tiers: Tiers that it belongs to, from the lowest; at least one.
        group: Heading of the check in a report; empty for a check that stands alone.
        seconds: Duration of the probe for the fact behind it; None if not measured. A fact that several checks
            use counts for one of them only, so that the seconds of a report can be added up.
    """

    id: str
    title: str
    outcome: Outcome
    tiers: tuple[Tier, ...] = (Tier.CPU,)
    group: str = ""
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number that is displayed beside others of its group.

    Attributes:
        name: Name of the measured quantity; unique within its group.
        value: The number, in `unit`. Finite.
        unit: Such as `s`, `us`, `bytes` or `TFLOP/s`; figures of one group and one unit are drawn to one scale.
        low: Lower end of the spread (best, 1st percentile, …); None without one.
        high: Upper end of the spread (worst, 99th percentile, …); None without one.
    """

    name: str
    group: str = ""
    value: float
    unit: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of a validation.

    Attributes:
        subject: Name of the validated object, such as an image reference.
        environment: Id of the row; empty when unknown.
        required: Requested tier; a check of that tier or below that is not proven counts as a failure.
        results: In the order of the check table.
        facts: `(name, value)` lines for the reader: TensorFlow, interpreter, driver, GPUs.
        deviations: Differences from the libraries that the wheel was compiled with, and missing updates of Debian.
        not_covered: Statements about the parts that this tier does not prove, one sentence each.
        figures: Numbers worth plotting; those of a group stand together.
    """

    subject: str
    environment: str
    tier: Tier
    required: Tier | None
    results: tuple[CheckResult, ...]
    facts: tuple[tuple[str, str], ...]
    deviations: tuple[str, ...]
    not_covered: tuple[str, ...]
    seconds: float
    figures: tuple[Figure, ...] = ()

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        """Results that fail the report: failures, and required results that are not proven."""
        return tuple(result for result in self.results if self.counts_as_failure(result))

    def counts_as_failure(self, result: CheckResult) -> bool:
        """Return True if this result fails the report."""
        match result.outcome:
            case Failed():
                return True
            case NotProven():
                return self.required is not None and self.required.includes(result.tiers[0])
            case Passed():
                return False

    @property
    def passed(self) -> bool:
        """True if something was proven and nothing failed."""
        return any(isinstance(result.outcome, Passed) for result in self.results) and not self.failed

"""Outcomes of checks, and the report that they make."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from envbuilder.diagnostics.findings import Finding, Remedy, Severity


class Tier(StrEnum):
    """How far a validation went: nothing was run, the image was run without a GPU, or with one."""

    STATIC = "static"
    CPU = "cpu"
    GPU = "gpu"

    def includes(self, other: Tier) -> bool:
        """Whether a validation of this tier looks at what the other tier looks at."""
        order = list(Tier)
        return order.index(other) <= order.index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """The check looked, and what it saw is as it should be.

    Attributes:
        seen: What was seen, in a few words.
    """

    seen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The check looked, and something is wrong.

    Attributes:
        finding: What; it has the id of the check in the result of a check.
    """

    finding: Finding


def failure(*, problem: str, remedy: str) -> Failed:
    """Return the outcome of a check that found a problem.

    Args:
        problem: What is wrong: what was expected and what was seen.
        remedy: What to do about it.
    """
    return Failed(finding=Finding(id="", severity=Severity.PROBLEM, message=problem, remedies=(Remedy(text=remedy),)))


@dataclass(frozen=True, slots=True, kw_only=True)
class NotProven:
    """The check could not look.

    Attributes:
        reason: Why not.
    """

    reason: str


Outcome: TypeAlias = Passed | Failed | NotProven


def outcome_of(check: str, outcome: Outcome) -> Outcome:
    """Return the outcome of a check; what it found has its id."""
    return Failed(finding=replace(outcome.finding, id=check)) if isinstance(outcome, Failed) else outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check and its outcome.

    Attributes:
        id: Stable kebab-case id of the check.
        title: What the check is about, in a few words.
        outcome: What came of it.
        tier: Lowest tier that the check belongs to.
        tiers: All tiers that it belongs to, from the lowest; empty when only the lowest is known.
        group: What the check is about, in the words of a heading; empty for a check that stands alone.
        seconds: How long the probe took for the fact behind it; None when nobody measured. A fact that several checks
            look at counts for one of them only, so that the seconds of a report can be added up.
    """

    id: str
    title: str
    outcome: Outcome
    tier: Tier = Tier.CPU
    tiers: tuple[Tier, ...] = ()
    group: str = ""
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number that a reader wants to see beside others of its group.

    Attributes:
        name: What was measured, in a few words; unique within its group.
        value: The number, in `unit`. Finite.
        unit: Such as `s`, `us`, `bytes` or `TFLOP/s`; figures of one group and one unit are drawn to one scale.
        low: Lower end of the spread (best, 1st percentile, …); None without one.
        high: Upper end of the spread (worst, 99th percentile, …); None without one.
        group: Heading that it stands under.
    """

    name: str
    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a validation found.

    Attributes:
        subject: What was looked at, such as an image reference.
        environment: Id of the row; empty when unknown.
        tier: How far it went.
        required: Tier that was asked for; a check of that tier or below that is not proven counts as a failure.
        results: In the order of the check table.
        facts: `(name, value)` lines that a reader wants to see: TensorFlow, interpreter, driver, GPUs.
        deviations: Differences between the image and what the wheel was compiled with, and missing updates of Debian.
        not_covered: What this tier did not prove, one sentence each.
        seconds: How long it took.
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
        """Results that fail the report: failures, and what the required tier includes but is not proven."""
        return tuple(result for result in self.results if self.counts_as_failure(result))

    def counts_as_failure(self, result: CheckResult) -> bool:
        """Whether this result fails the report."""
        match result.outcome:
            case Failed():
                return True
            case NotProven():
                return self.required is not None and self.required.includes(result.tier)
            case Passed():
                return False

    @property
    def passed(self) -> bool:
        """Whether something was proven and nothing failed."""
        return any(isinstance(result.outcome, Passed) for result in self.results) and not self.failed

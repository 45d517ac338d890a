"""Outcomes of checks, and the report that they make."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Tier(StrEnum):
    """How far a validation went."""

    STATIC = "static"
    CPU = "cpu"
    GPU = "gpu"


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
        problem: What is wrong: what was expected and what was seen.
        remedy: What to do about it.
    """

    problem: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotProven:
    """The check could not look.

    Attributes:
        reason: Why not.
    """

    reason: str


Outcome: TypeAlias = Passed | Failed | NotProven


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check and its outcome.

    Attributes:
        id: Stable kebab-case id of the check.
        title: What the check is about, in a few words.
        outcome: What came of it.
    """

    id: str
    title: str
    outcome: Outcome


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
        deviations: In which the image differs from what the wheel was compiled with.
        not_covered: What this tier did not prove, one sentence each.
        seconds: How long it took.
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

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        """Results that fail the report: failures, and what was required but is not proven."""
        required = self.required is not None
        return tuple(
            result
            for result in self.results
            if isinstance(result.outcome, Failed) or (required and isinstance(result.outcome, NotProven))
        )

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.failed

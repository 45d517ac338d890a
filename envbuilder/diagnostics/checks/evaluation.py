"""All checks of a tier on the facts of one image."""

from __future__ import annotations

from dataclasses import replace

from envbuilder.catalog.expectation import Expectation
from envbuilder.diagnostics.checks import content
from envbuilder.diagnostics.checks.check import Check
from envbuilder.diagnostics.checks.driver import describe
from envbuilder.diagnostics.checks.figures import figures
from envbuilder.diagnostics.checks.results import CheckResult, NotProven, Outcome, Report, Tier, outcome_of
from envbuilder.diagnostics.checks.stand_ins import stand_ins
from envbuilder.diagnostics.checks.subjects import group_of, seconds_of
from envbuilder.diagnostics.checks.table import bare_checks, checks_for
from envbuilder.diagnostics.facts.facts import Facts, Seen

NOT_COVERED: dict[Tier, tuple[str, ...]] = {
    Tier.STATIC: content.NOT_COVERED,
    Tier.CPU: (
        "that every file is the one of the lock: tier static checks that",
        "that a driver fits: none was queried",
        "that TensorFlow sees a GPU and computes on it",
        "that the wheel has code for your GPU",
    ),
    Tier.GPU: (
        "that the measured speed is what the GPU can do",
        "that other GPUs and drivers than those seen here work",
    ),
}

STAND_INS = "stand-ins"
"""Line of a report that names the stand-ins."""

_BARE = "that the base and the CUDA libraries of an image fit: this was a bare environment"


def run_checks(  # noqa: PLR0913 - each is one fact of the run
    expectation: Expectation, facts: Facts, *, tier: Tier, required: Tier | None, subject: str, seconds: float
) -> Report:
    """Run every check of a tier.

    Checks of `required` that go beyond `tier`, which the probe covered, are reported as not proven.
    """
    ran = checks_for(tier)
    beyond = [check for check in checks_for(required) if check not in ran] if required else []
    beside = {check.id: why for check in ran if (why := check.beside(facts)) and check.applies(expectation)}
    results = [
        _result(check, expectation, facts) for check in ran if check.applies(expectation) and check.id not in beside
    ]
    limited = NotProven(reason=f"the validation was limited to tier {tier.value}")
    results += [_of(check, limited, None) for check in beyond if check.applies(expectation)]
    return Report(
        subject=subject,
        environment=expectation.environment,
        tier=tier,
        required=required,
        results=tuple(results),
        facts=summary(facts),
        deviations=expectation.deviations,
        not_covered=(*NOT_COVERED[tier], *beside.values()),
        seconds=seconds,
        figures=figures(facts),
    )


def run_bare_checks(expectation: Expectation, facts: Facts, *, subject: str, seconds: float) -> Report:
    """Check an environment of a host, where nothing but the Python packages was installed.

    Every check must be proven.
    """
    return replace(
        run_checks(expectation, facts, tier=Tier.CPU, required=Tier.CPU, subject=subject, seconds=seconds),
        results=tuple(_result(check, expectation, facts) for check in bare_checks()),
        not_covered=(_BARE, *NOT_COVERED[Tier.CPU]),
    )


def _result(check: Check, expectation: Expectation, facts: Facts) -> CheckResult:
    return _of(check, check.examine(expectation, facts), seconds_of(check.id, facts))


def _of(check: Check, outcome: Outcome, seconds: float | None) -> CheckResult:
    return CheckResult(
        id=check.id,
        title=check.title,
        outcome=outcome_of(check.id, outcome),
        tiers=tuple(tier for tier in Tier if tier in check.tiers),
        group=group_of(check.id),
        seconds=seconds,
    )


def summary(facts: Facts) -> tuple[tuple[str, str], ...]:
    """Return the most important facts as lines; missing facts are left out."""
    lines: list[tuple[str, str]] = []
    if isinstance(facts.imported, Seen):
        lines.append(("TensorFlow", facts.imported.value.version))
    if isinstance(facts.interpreter, Seen):
        seen = facts.interpreter.value
        lines.append(("Python", f"{seen.version} (glibc {seen.glibc or 'none'})"))
    if isinstance(facts.driver, Seen):
        lines.append(("driver", describe(facts.driver.value)))
        lines += [
            (f"GPU {gpu.index}", f"{gpu.name}, compute capability {gpu.capability or '?'}") for gpu in facts.driver_gpus
        ]
    if found := stand_ins(facts):
        lines.append((STAND_INS, ", ".join(found)))
    return tuple(lines)

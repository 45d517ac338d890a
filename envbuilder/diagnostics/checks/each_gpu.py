"""Common parts of the checks of work on GPUs: each GPU is checked, and missing facts are reported separately."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from envbuilder.diagnostics.checks.check import no_result
from envbuilder.diagnostics.checks.results import NotProven, Outcome, Passed, failure
from envbuilder.diagnostics.facts.facts import Fact, Facts, Seen, Unseen
from envbuilder.diagnostics.facts.gpu import OnGpu, Placement

T = TypeVar("T")
U = TypeVar("U")
WORK = "work on a GPU"
NO_GPU = "TensorFlow sees no GPU, so nothing was computed on one"
ABSENT = "NotInRelease"


def check_each(
    facts: Facts,
    fact: Fact[tuple[OnGpu[T], ...]],
    problem: Callable[[str, T], str | NotProven],
    seen: Callable[[T], str],
    remedy: str,
) -> Outcome:
    """Check the work of every GPU; one failure fails the check.

    Args:
        facts: All facts.
        fact: The work, one entry per GPU.
        problem: Returns the problem of a device's work; empty if there is none.
        seen: Text for correct work.
        remedy: Remedy for a problem.
    """
    if isinstance(fact, Unseen):
        return no_result(facts, fact, WORK, "it", remedy)
    if not fact.value:
        return NotProven(reason=NO_GPU)
    found = [(each.asked, _problem(each, problem)) for each in fact.value]
    if wrong := [f"{asked}: {text}" for asked, text in found if isinstance(text, str) and text]:
        return failure(problem="; ".join(wrong), remedy=remedy)
    if open_ones := [f"{asked}: {text.reason}" for asked, text in found if isinstance(text, NotProven)]:
        return NotProven(reason="; ".join(open_ones))
    results = [f"{each.asked}: {seen(each.work.value)}" for each in fact.value if isinstance(each.work, Seen)]
    return Passed(seen="; ".join(results))


def _problem(each: OnGpu[T], problem: Callable[[str, T], str | NotProven]) -> str | NotProven:
    if isinstance(each.work, Seen):
        return problem(each.asked, each.work.value)
    return NotProven(reason=each.work.headline) if each.work.kind == ABSENT else each.work.summary


def part(fact: Fact[tuple[OnGpu[T], ...]], pick: Callable[[T], Fact[U]]) -> Fact[tuple[OnGpu[U], ...]]:
    """Return one part of the work of every GPU, as a fact of its own."""
    if isinstance(fact, Unseen):
        return fact
    picked = tuple(
        OnGpu(asked=each.asked, work=pick(each.work.value) if isinstance(each.work, Seen) else each.work)
        for each in fact.value
    )
    return Seen(value=picked, seconds=fact.seconds)


def elsewhere(where: Placement) -> str:
    """Return the device where it ran instead of the requested one; empty if it ran there."""
    return "" if where.on_device else f"ran on {', '.join(where.placed) or 'an unknown device'} instead"

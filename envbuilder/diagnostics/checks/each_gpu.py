"""What every check of work on GPUs has in common: each GPU is judged, and what was not seen is told apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from envbuilder.diagnostics.checks.check import was_tried, without_tensorflow
from envbuilder.diagnostics.checks.results import NotProven, Outcome, Passed, failure
from envbuilder.diagnostics.facts.facts import Fact, Facts, Seen, Unseen
from envbuilder.diagnostics.facts.gpu import OnGpu, Placement

T = TypeVar("T")
U = TypeVar("U")
NO_GPU = "TensorFlow sees no GPU, so nothing was computed on one"
ABSENT = "NotInRelease"


def judge_each(
    facts: Facts,
    fact: Fact[tuple[OnGpu[T], ...]],
    problem: Callable[[str, T], str | NotProven],
    seen: Callable[[T], str],
    remedy: str,
) -> Outcome:
    """Judge the work of every GPU; one that fails fails all.

    Args:
        facts: All facts.
        fact: The work, one entry per GPU.
        problem: From device and work to what is wrong; empty when nothing is.
        seen: What to say of work that is right.
        remedy: What to do when something is wrong.
    """
    if isinstance(fact, Unseen):
        return not_there(facts, fact, remedy)
    if not fact.value:
        return NotProven(reason=NO_GPU)
    judged = [(each.asked, _judged(each, problem)) for each in fact.value]
    if wrong := [f"{asked}: {found}" for asked, found in judged if isinstance(found, str) and found]:
        return failure(problem="; ".join(wrong), remedy=remedy)
    if open_ones := [f"{asked}: {found.reason}" for asked, found in judged if isinstance(found, NotProven)]:
        return NotProven(reason="; ".join(open_ones))
    told = [f"{each.asked}: {seen(each.work.value)}" for each in fact.value if isinstance(each.work, Seen)]
    return Passed(seen="; ".join(told))


def not_there(facts: Facts, fact: Unseen, remedy: str) -> Outcome:
    """The outcome for a whole step that was not seen: it failed if it was tried."""
    if not was_tried(fact):
        return without_tensorflow("work on a GPU", facts, fact)
    return failure(problem=f"it ended with {fact.summary}", remedy=remedy)


def _judged(each: OnGpu[T], problem: Callable[[str, T], str | NotProven]) -> str | NotProven:
    if isinstance(each.work, Seen):
        return problem(each.asked, each.work.value)
    return NotProven(reason=each.work.headline) if each.work.kind == ABSENT else each.work.summary


def part(fact: Fact[tuple[OnGpu[T], ...]], pick: Callable[[T], Fact[U]]) -> Fact[tuple[OnGpu[U], ...]]:
    """One part of the work of every GPU, as a fact of its own."""
    if isinstance(fact, Unseen):
        return fact
    picked = tuple(
        OnGpu(asked=each.asked, work=pick(each.work.value) if isinstance(each.work, Seen) else each.work)
        for each in fact.value
    )
    return Seen(value=picked, seconds=fact.seconds)


def elsewhere(where: Placement) -> str:
    """Where it ran instead of the device asked for; empty when it ran there."""
    return "" if where.on_device else f"ran on {', '.join(where.placed) or 'an unknown device'} instead"

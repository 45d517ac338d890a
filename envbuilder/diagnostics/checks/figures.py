"""Numbers for figures of a report, taken from the facts.

A source is a function from facts to figures. To add one: write it here or beside its checks, and name it in `SOURCES`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

from envbuilder.diagnostics.checks.gpu_figures import gpu_memory, latency, rates, tensorflow_memory
from envbuilder.diagnostics.checks.results import Figure
from envbuilder.diagnostics.checks.subjects import Timed
from envbuilder.diagnostics.facts.facts import Facts, Unseen

Source: TypeAlias = Callable[[Facts], Iterator[Figure]]


def step_seconds(facts: Facts) -> Iterator[Figure]:
    """Yield the duration of each step of the probe; skipped steps are left out."""
    steps: tuple[tuple[str, Timed], ...] = (
        ("CUDA libraries", facts.libraries),
        ("driver", facts.driver),
        ("import tensorflow", facts.imported),
        ("training", facts.training),
        ("saving and loading", facts.saving),
        ("work on the GPUs", facts.gpu),
    )
    for name, fact in steps:
        if fact.seconds > 0:
            yield Figure(name=name, value=fact.seconds, unit="s", group="Time of each step")


def machine_memory(facts: Facts) -> Iterator[Figure]:
    """Yield the memory of the machine: total, limit of the control group, and /dev/shm."""
    if isinstance(facts.machine, Unseen):
        return
    seen = facts.machine.value
    for name, value in (("memory", seen.memory), ("limit", seen.memory_limit), ("shared (shm)", seen.shm)):
        if value is not None:
            yield Figure(name=name, value=float(value), unit="bytes", group="Memory of the machine")


SOURCES: tuple[Source, ...] = (step_seconds, machine_memory, gpu_memory, tensorflow_memory, latency, rates)


def figures(facts: Facts) -> tuple[Figure, ...]:
    """Return all figures of all sources, in the order of `SOURCES`; numbers that are not finite are left out."""
    return tuple(figure for source in SOURCES for figure in source(facts) if _finite(figure))


def _finite(figure: Figure) -> bool:
    return all(end is None or math.isfinite(end) for end in (figure.value, figure.low, figure.high))

"""Numbers for figures of a report, taken from the facts; results that ran on the CPU are left out.

A source is a function from facts to figures. To add one, write it here and name it in `SOURCES`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar

from envbuilder.core.observation import Fact
from envbuilder.diagnostics.checks.results import Figure
from envbuilder.diagnostics.facts.facts import Facts, Seen, Unseen, known
from envbuilder.diagnostics.facts.gpu import Each, Rate

T = TypeVar("T")


def gpu_memory(facts: Facts) -> Iterator[Figure]:
    """Yield the memory of each GPU: total, free and used according to NVML; the driver's total if NVML has none."""
    reported = set[int]()
    for gpu in facts.nvml.value.gpus if isinstance(facts.nvml, Seen) else ():
        if gpu.memory:
            reported.add(gpu.index)
            sizes = (("all", gpu.memory.total), ("free", gpu.memory.free), ("held", gpu.memory.used))
            for name, size in sizes:
                yield Figure(
                    name=f"GPU {gpu.index} {name}", value=float(size), unit="bytes", group="Memory of the GPUs"
                )
    for shown in facts.driver_gpus if not reported else ():
        if shown.memory is not None:
            yield Figure(
                name=f"GPU {shown.index} all", value=float(shown.memory), unit="bytes", group="Memory of the GPUs"
            )


def tensorflow_memory(facts: Facts) -> Iterator[Figure]:
    """Yield the memory that TensorFlow held with growth: after its start, and with one block more."""
    for asked, work in _each(facts.tier.memory):
        for name, size in (
            ("at the start", work.held_at_start),
            ("grown", work.held_grown),
            ("largest", work.large.size),
        ):
            if name != "largest" or work.large.given:
                yield Figure(name=f"{asked} {name}", value=float(size), unit="bytes", group="Held by TensorFlow")


def latency(facts: Facts) -> Iterator[Figure]:
    """Yield median and 99th percentile of one tiny operation with the copy of its result."""
    for asked, work in _each(facts.tier.latency):
        if work.where.on_device and work.median is not None:
            yield Figure(
                name=asked, value=work.median, unit="us", high=work.p99, group="Latency of one small operation"
            )


def rates(facts: Facts) -> Iterator[Figure]:
    """Yield the rates of matrix products: in TensorFlow by the type of the numbers, and in cuBLAS alone."""
    for asked, work in _each(facts.tier.throughput):
        yield from _rate(f"{asked} float32", work.single)
        yield from _rate(f"{asked} float16", work.half)
    for gpu in facts.compute.value.gpus if isinstance(facts.compute, Seen) else ():
        for product in gpu.speed.value if isinstance(gpu.speed, Seen) else ():
            if product.teraflops is not None and product.equal:
                name = f"GPU {gpu.index} cuBLAS alone {product.size}x{product.size}"
                yield Figure(name=name, value=product.teraflops, unit="TFLOP/s", group="Rate of matrix products")


def _rate(name: str, fact: Fact[Rate]) -> Iterator[Figure]:
    if isinstance(fact, Seen) and fact.value.where.on_device and fact.value.median is not None:
        yield Figure(
            name=f"{name} {fact.value.size}x{fact.value.size}",
            value=fact.value.median,
            unit="TFLOP/s",
            high=fact.value.best,
            group="Rate of matrix products",
        )


def _each(step: Each[T]) -> Iterator[tuple[str, T]]:
    for gpu in known(step) or ():
        if isinstance(gpu.work, Seen):
            yield gpu.asked.replace("/", "").replace(":", " "), gpu.work.value


Source: TypeAlias = Callable[[Facts], Iterator[Figure]]


def step_seconds(facts: Facts) -> Iterator[Figure]:
    """Yield the duration of each step of the probe; skipped steps are left out."""
    steps: tuple[tuple[str, Seen[Any] | Unseen], ...] = (
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

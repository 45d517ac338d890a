"""The part of the probe's JSON that the gpu tier makes, to facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from envbuilder.diagnostics.facts.gpu import (
    AllReduce,
    Attempt,
    Compared,
    Course,
    FirstKernel,
    GpuTier,
    Latency,
    Memory,
    MemoryLimit,
    Mixed,
    OnGpu,
    Operations,
    Placement,
    Rate,
    Replica,
    Throughput,
)
from envbuilder.diagnostics.probe.fact_fields import read_fact
from envbuilder.diagnostics.probe.json_fields import Item

T = TypeVar("T")


def gpu_tier(facts: Item) -> GpuTier:
    """The steps of the gpu tier; a step that is not there was not asked for.

    Raises:
        WrongField: A field is not what the probe prints.
    """
    return GpuTier(
        first=read_fact(facts["tensorflow-gpu-first"], _each(_first)),
        operations=read_fact(facts["tensorflow-gpu-operations"], _each(_operations)),
        training=read_fact(facts["tensorflow-gpu-training"], _each(_course)),
        function=read_fact(facts["tensorflow-gpu-function"], _each(_compared)),
        xla=read_fact(facts["tensorflow-gpu-xla"], _each(_compared)),
        mixed=read_fact(facts["tensorflow-gpu-mixed"], _each(_mixed)),
        latency=read_fact(facts["tensorflow-gpu-latency"], _each(_latency)),
        throughput=read_fact(facts["tensorflow-gpu-throughput"], _each(_throughput)),
        all_reduce=read_fact(facts["tensorflow-gpu-all-reduce"], _all_reduce),
        memory=read_fact(facts["tensorflow-gpu-memory"], _each(_memory)),
        limited=read_fact(facts["tensorflow-gpu-memory-limit"], _each(_limited)),
    )


def _each(read: Callable[[Item], T]) -> Callable[[Item], tuple[OnGpu[T], ...]]:
    def whole(item: Item) -> tuple[OnGpu[T], ...]:
        return tuple(
            OnGpu(asked=entry["asked"].text(), work=read_fact(entry["work"], read)) for entry in item["gpus"].items()
        )

    return whole


def _placement(item: Item) -> Placement:
    placed = tuple(entry.text() for entry in item["placed"].items())
    return Placement(placed=placed, on_device=item["on_device"].flag())


def _number(item: Item) -> float | None:
    return item.maybe(Item.number)


def _bytes(item: Item) -> int | None:
    return item.maybe(Item.integer)


def _compared(item: Item) -> Compared:
    return Compared(
        where=_placement(item),
        absolute=_number(item["absolute"]),
        relative=_number(item["relative"]),
        tf32=item["tf32"].maybe(Item.flag),
        reference=item["reference"].text(),
        cudnn=item["cudnn"].maybe(Item.flag),
        compiled=item["compiled"].maybe(Item.flag),
    )


def _operations(item: Item) -> Operations:
    return Operations(
        matmul=read_fact(item["matmul"], _compared),
        convolution=read_fact(item["convolution"], _compared),
        gradient=read_fact(item["convolution-gradient"], _compared),
        batch_norm=read_fact(item["batch-norm"], _compared),
        rnn=read_fact(item["rnn"], _compared),
    )


def _mixed(item: Item) -> Mixed:
    return Mixed(matmul=read_fact(item["matmul"], _compared), convolution=read_fact(item["convolution"], _compared))


def _first(item: Item) -> FirstKernel:
    first, second = _number(item["first_seconds"]), _number(item["second_seconds"])
    return FirstKernel(where=_placement(item), first=first, second=second)


def _course(item: Item) -> Course:
    return Course(
        where=_placement(item),
        steps=item["steps"].integer(),
        first=_number(item["first"]),
        last=_number(item["last"]),
    )


def _latency(item: Item) -> Latency:
    return Latency(
        where=_placement(item),
        samples=item["samples"].integer(),
        median=_number(item["median_us"]),
        p99=_number(item["p99_us"]),
    )


def _throughput(item: Item) -> Throughput:
    return Throughput(single=read_fact(item["float32"], _rate), half=read_fact(item["float16"], _rate))


def _rate(item: Item) -> Rate:
    return Rate(
        where=_placement(item),
        size=item["size"].integer(),
        samples=item["samples"].integer(),
        best=_number(item["best_tflops"]),
        median=_number(item["median_tflops"]),
    )


def _all_reduce(item: Item) -> AllReduce:
    return AllReduce(
        devices=item["devices"].integer(),
        shm=_bytes(item["shm"]),
        how=item["how"].text(),
        expected=_number(item["expected"]),
        replicas=tuple(_replica(entry) for entry in item["replicas"].items()),
    )


def _replica(item: Item) -> Replica:
    return Replica(
        asked=item["asked"].text(),
        where=_placement(item),
        least=_number(item["least"]),
        largest=_number(item["largest"]),
    )


def _attempt(item: Item) -> Attempt:
    return Attempt(size=item["bytes"].integer(), given=item["given"].flag(), error=item["error"].text())


def _memory(item: Item) -> Memory:
    return Memory(
        total=item["total"].integer(),
        free=item["free"].integer(),
        held_at_start=item["held_at_start"].integer(),
        held_grown=item["held_grown"].integer(),
        block=item["block"].integer(),
        used=read_fact(item["used"], _bytes),
        limit=read_fact(item["limit"], _bytes),
        large=_attempt(item["large"]),
        impossible=_attempt(item["impossible"]),
        after=_attempt(item["after"]),
        fragmented=_attempt(item["fragmented"]),
        right_after=item["right_after"].flag(),
    )


def _limited(item: Item) -> MemoryLimit:
    return MemoryLimit(limit=item["limit"].integer(), small=_attempt(item["small"]), beyond=_attempt(item["beyond"]))

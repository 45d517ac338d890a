"""What the steps of the gpu tier saw inside TensorFlow, as typed values. No value here says whether it is good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from envbuilder.core.observation import NOT_ASKED, Fact

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class OnGpu(Generic[T]):
    """What one GPU did.

    Attributes:
        asked: Device asked for, such as `/GPU:0`.
        work: What came of it.
    """

    asked: str
    work: Fact[T]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where something ran.

    Attributes:
        placed: Devices as TensorFlow names them, sorted; empty when nothing told.
        on_device: Whether all of it ran on the device asked for.
    """

    placed: tuple[str, ...]
    on_device: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Numbers of a device against a reference; None when it ran elsewhere, or when they are not finite.

    Attributes:
        where: Where it ran.
        absolute: Largest difference.
        relative: Largest difference as a share of the largest number of the reference.
        tf32: Whether TensorFlow allowed TF32; None where it has no switch (to 2.3).
        reference: What it was compared with.
        cudnn: For a recurrent network, whether cuDNN computed it; else None.
        compiled: For XLA, whether it was compiled; else None.
    """

    where: Placement
    absolute: float | None
    relative: float | None
    tf32: bool | None
    reference: str
    cudnn: bool | None = None
    compiled: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """The operations that networks are made of."""

    matmul: Fact[Compared]
    convolution: Fact[Compared]
    gradient: Fact[Compared]
    batch_norm: Fact[Compared]
    rnn: Fact[Compared]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """Operations in float16."""

    matmul: Fact[Compared]
    convolution: Fact[Compared]


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstKernel:
    """Seconds of the first kernel (with starting, and with compiling by the driver) and of the second."""

    where: Placement
    first: float | None
    second: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """A training: number of steps, first and last loss (None when not on the device, or not finite)."""

    where: Placement
    steps: int
    first: float | None
    last: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Microseconds of one tiny operation with the copy of its result: median and 99th percentile of all samples."""

    where: Placement
    samples: int
    median: float | None
    p99: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """TFLOP/s of square matrix products of one size: best and median of the samples."""

    where: Placement
    size: int
    samples: int
    best: float | None
    median: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Rates by the type of the numbers; float32 may be computed as TF32."""

    single: Fact[Rate]
    half: Fact[Rate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """What one GPU has after the sum: least and largest number of its vector; None when it was not there."""

    asked: str
    where: Placement
    least: float | None
    largest: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AllReduce:
    """A sum over all GPUs.

    Attributes:
        devices: Number of GPUs; with fewer than two there is no sum.
        shm: Bytes of /dev/shm; None without it.
        how: By what it was done; empty when it was not.
        expected: What every number must be; None when there is no sum.
        replicas: One for each GPU.
    """

    devices: int
    shm: int | None
    how: str
    expected: float | None
    replicas: tuple[Replica, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A block of memory that was asked for.

    Attributes:
        size: Bytes.
        given: Whether TensorFlow gave it.
        error: What it said when it refused (ResourceExhaustedError); empty when it gave.
    """

    size: int
    given: bool
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The memory of one GPU in one process with growth, all in bytes.

    Attributes:
        total: Memory of the GPU.
        free: Free before TensorFlow held any.
        held_at_start: Held after the first small block, as the driver counts it.
        held_grown: Held with one more block of `block`.
        block: Size of that block.
        used: In use by TensorFlow's own count with that block; None where it does not tell.
        limit: What TensorFlow would hold at most, as it says itself; None where it does not.
        large: One block of 90 % of what it could still take.
        impossible: Twice the whole memory.
        after: A block after that refusal.
        fragmented: A block larger than any hole, after every second of sixteen was given back.
        right_after: Whether a matrix product was right at the end.
    """

    total: int
    free: int
    held_at_start: int
    held_grown: int
    block: int
    used: Fact[int | None]
    limit: Fact[int | None]
    large: Attempt
    impossible: Attempt
    after: Attempt
    fragmented: Attempt
    right_after: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimit:
    """A process with a limit in bytes: a block below it, and one beyond."""

    limit: int
    small: Attempt
    beyond: Attempt


Each: TypeAlias = Fact[tuple[OnGpu[T], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuTier:
    """The steps, each with one entry per GPU that TensorFlow sees; empty when it sees none."""

    first: Each[FirstKernel] = NOT_ASKED
    operations: Each[Operations] = NOT_ASKED
    training: Each[Course] = NOT_ASKED
    function: Each[Compared] = NOT_ASKED
    xla: Each[Compared] = NOT_ASKED
    mixed: Each[Mixed] = NOT_ASKED
    latency: Each[Latency] = NOT_ASKED
    throughput: Each[Throughput] = NOT_ASKED
    all_reduce: Fact[AllReduce] = NOT_ASKED
    memory: Each[Memory] = NOT_ASKED
    limited: Each[MemoryLimit] = NOT_ASKED

"""Facts of TensorFlow: the gpu tier and the memory policy, as typed values without judgement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Generic, TypeAlias, TypeVar

from envbuilder.core.field_rules import At, Inside
from envbuilder.core.observation import NOT_ASKED, Fact
from envbuilder.diagnostics.facts.hardware import Measured

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class OnGpu(Generic[T]):
    """The work of one GPU.

    Attributes:
        asked: Device asked for, such as `/GPU:0`.
    """

    asked: str
    work: Fact[T] = NOT_ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The device of an operation.

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
        relative: Largest difference as a share of the largest number of the reference.
        tf32: Whether TensorFlow allowed TF32; None where it has no switch (to 2.3).
        reference: Origin of the reference.
        cudnn: For a recurrent network, whether cuDNN computed it; else None.
        compiled: For XLA, whether it was compiled; else None.
    """

    where: Annotated[Placement, At()]
    relative: float | None
    tf32: bool | None
    reference: str
    cudnn: bool | None = None
    compiled: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """The operations that networks are made of."""

    matmul: Fact[Compared] = NOT_ASKED
    convolution: Fact[Compared] = NOT_ASKED
    gradient: Annotated[Fact[Compared], At("convolution-gradient")] = NOT_ASKED
    batch_norm: Annotated[Fact[Compared], At("batch-norm")] = NOT_ASKED
    rnn: Fact[Compared] = NOT_ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """Operations in float16."""

    matmul: Fact[Compared] = NOT_ASKED
    convolution: Fact[Compared] = NOT_ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstKernel:
    """Seconds of the first kernel (with starting, and with compiling by the driver) and of the second."""

    where: Annotated[Placement, At()]
    first: Annotated[float | None, At("first_seconds")]
    second: Annotated[float | None, At("second_seconds")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """A training: number of steps, first and last loss (None when not on the device, or not finite)."""

    where: Annotated[Placement, At()]
    steps: int
    first: float | None
    last: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Microseconds of one tiny operation with the copy of its result: median and 99th percentile of all samples."""

    where: Annotated[Placement, At()]
    samples: int
    median: Annotated[float | None, At("median_us")]
    p99: Annotated[float | None, At("p99_us")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """TFLOP/s of square matrix products of one size: best and median of the samples."""

    where: Annotated[Placement, At()]
    size: int
    best: Annotated[float | None, At("best_tflops")]
    median: Annotated[float | None, At("median_tflops")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Rates by the type of the numbers; float32 may be computed as TF32."""

    single: Annotated[Fact[Rate], At("float32")] = NOT_ASKED
    half: Annotated[Fact[Rate], At("float16")] = NOT_ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """The vector of one GPU after the sum: its smallest and largest number; None if it is missing."""

    asked: str
    where: Annotated[Placement, At()]
    least: float | None
    largest: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AllReduce:
    """A sum over all GPUs.

    Attributes:
        devices: Number of GPUs; with fewer than two there is no sum.
        shm: Bytes of /dev/shm; None without it.
        how: By what it was done; empty when it was not.
        expected: Expected value of every number; None if there is no sum.
        replicas: One for each GPU.
    """

    devices: int
    shm: int | None
    how: str
    expected: float | None
    replicas: tuple[Replica, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationAttempt:
    """An attempt to allocate a block of memory.

    Attributes:
        size: Bytes.
        given: Whether TensorFlow gave it.
        error: Message of a refusal (ResourceExhaustedError); empty on success.
    """

    size: Annotated[int, At("bytes")]
    given: bool
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The memory of one GPU in one process with growth, all in bytes.

    Attributes:
        free: Free before TensorFlow held any.
        held_at_start: Held after the first small block, as the driver counts it.
        held_grown: Held with one more block of `block`.
        large: One block of 90 % of what it could still take.
        impossible: Twice the whole memory.
        after: A block after that refusal.
        fragmented: A block larger than any hole, after every second of sixteen was given back.
        right_after: Whether a matrix product was right at the end.
    """

    free: int
    held_at_start: int
    held_grown: int
    block: int
    large: AllocationAttempt
    impossible: AllocationAttempt
    after: AllocationAttempt
    fragmented: AllocationAttempt
    right_after: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimit:
    """A process with a limit in bytes: a block below it, and one beyond."""

    limit: int
    small: AllocationAttempt
    beyond: AllocationAttempt


Each: TypeAlias = Fact[Annotated[tuple[OnGpu[T], ...], Inside("gpus")]]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuTier:
    """The steps, each with one entry per GPU that TensorFlow sees; empty when it sees none."""

    first: Annotated[Each[FirstKernel], At("tensorflow-gpu-first")] = NOT_ASKED
    operations: Annotated[Each[Operations], At("tensorflow-gpu-operations")] = NOT_ASKED
    training: Annotated[Each[Course], At("tensorflow-gpu-training")] = NOT_ASKED
    function: Annotated[Each[Compared], At("tensorflow-gpu-function")] = NOT_ASKED
    xla: Annotated[Each[Compared], At("tensorflow-gpu-xla")] = NOT_ASKED
    mixed: Annotated[Each[Mixed], At("tensorflow-gpu-mixed")] = NOT_ASKED
    latency: Annotated[Each[Latency], At("tensorflow-gpu-latency")] = NOT_ASKED
    throughput: Annotated[Each[Throughput], At("tensorflow-gpu-throughput")] = NOT_ASKED
    all_reduce: Annotated[Fact[AllReduce], At("tensorflow-gpu-all-reduce")] = NOT_ASKED
    memory: Annotated[Each[Memory], At("tensorflow-gpu-memory")] = NOT_ASKED
    limited: Annotated[Each[MemoryLimit], At("tensorflow-gpu-memory-limit")] = NOT_ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMemory:
    """The memory settings that TensorFlow received.

    Attributes:
        gpus: Number of GPUs that it sees.
        growth: Whether it takes memory as it needs it.
        fraction: Part of each GPU's memory; 0 when it was not told.
        limits: MiB for each GPU, in TensorFlow's order, 0 for one without a limit; empty when it was not told.
    """

    gpus: int
    growth: bool
    fraction: Measured
    limits: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFacts:
    """The memory policy in force.

    Attributes:
        variable: ENVBUILDER_MEMORY as the process got it; empty when it is not set.
        hook: Whether the hook ran before TensorFlow was imported.
        force_growth: TF_FORCE_GPU_ALLOW_GROWTH; empty when it is not set.
        allocator: TF_GPU_ALLOCATOR; empty when it is not set.
        received: Settings that TensorFlow received; None without the hook.
    """

    variable: str
    hook: bool
    force_growth: str
    allocator: str
    received: ReceivedMemory | None

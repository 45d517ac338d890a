"""Two machines or locks side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from envbuilder.catalog.machine import Host
from envbuilder.core.memory_policy import MemoryPolicy
from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.hardware import NvmlGpu


class SideKind(StrEnum):
    """The source of a side."""

    FACTS = "facts"
    LOCK = "lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The known properties of one side; None, or an absent key, if unknown.

    Attributes:
        name: Name given by the user.
        kind: Its source.
        driver: Driver release.
        driver_cuda: Newest CUDA that the driver supports.
        gpus: Its GPUs; empty when there are none.
        cuda: Release of the CUDA libraries.
        cudnn: Release of cuDNN.
        packages: Version of each Python distribution by normalized name; empty if unknown.
        environment: Id of the row that it is, for a lock.
        python: Version of the interpreter.
        policy: Memory policy.
        variables: Relevant environment variables that are set; None if unknown.
        has_all_variables: Whether what is not among them is known not to be set.
        processes: Names of processes that hold GPU memory, by number.
        memory: Bytes of main memory.
        limit: Bytes that the control group allows; None without a limit, or if unknown.
        shm: Bytes of /dev/shm.
        cpu: Model of the processor.
        features: Instruction sets of the processor, by name, such as `avx`.
        kernel: Release of the kernel.
        glibc: C library.
        host: The machine, as far as which environments run on it; None for a lock.
    """

    name: str
    kind: SideKind
    driver: Release | None = None
    driver_cuda: Release | None = None
    gpus: tuple[NvmlGpu, ...] | None = None
    cuda: Release | None = None
    cudnn: Release | None = None
    packages: Mapping[str, str] = field(default_factory=dict)
    environment: str = ""
    python: Release | None = None
    policy: MemoryPolicy | None = None
    variables: Mapping[str, str] | None = None
    has_all_variables: bool = False
    processes: Mapping[int, str] = field(default_factory=dict)
    memory: int | None = None
    limit: int | None = None
    shm: int | None = None
    cpu: str = ""
    features: Mapping[str, bool] = field(default_factory=dict)
    kernel: str = ""
    glibc: Release | None = None
    host: Host | None = None

    @property
    def tensorflow(self) -> str:
        """Version of TensorFlow, under whichever name it is installed; empty when it is not known."""
        names = ("tensorflow", "tensorflow-gpu", "tensorflow-cpu")
        return next((self.packages[name] for name in names if name in self.packages), "")

    @property
    def main_memory(self) -> int | None:
        """Bytes of main memory that a process may take."""
        return min((size for size in (self.memory, self.limit) if size is not None), default=None)


class Where(StrEnum):
    """The side that an effect applies to."""

    A = "A"
    B = "B"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The effect of a difference.

    Attributes:
        where: The side.
        text: The effect, in a sentence.
        out_of_memory: Whether that explains an out-of-memory on that side which the other does not have.
    """

    where: Where
    text: str
    out_of_memory: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One property that differs.

    Attributes:
        topic: The property, in a word or two.
        a: Value on the first side; empty if unknown.
        b: Value on the second side, likewise.
        effects: Effects on TensorFlow, on each side; may be empty.
    """

    topic: str
    a: str
    b: str
    effects: tuple[Effect, ...] = ()

    @property
    def is_known(self) -> bool:
        """True if both sides are known."""
        return bool(self.a and self.b)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All differences between two sides.

    Attributes:
        a: The first side.
        b: The second side.
        differences: Differences known on both sides, most important first.
        unknown: Properties known on one side only.
        same: Topics without difference.
    """

    a: Side
    b: Side
    differences: tuple[Difference, ...]
    unknown: tuple[Difference, ...]
    same: tuple[str, ...]

    @property
    def out_of_memory(self) -> tuple[Effect, ...]:
        """Effects that explain an out-of-memory on one side only."""
        return tuple(effect for difference in self.differences for effect in difference.effects if effect.out_of_memory)

"""Two machines, environments or locks beside each other, and the properties that are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.machine import Host
from envbuilder.core.memory_policy import MemoryPolicy
from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.hardware import NvmlGpu

T = TypeVar("T")


class SystemKind(StrEnum):
    """The source of the properties."""

    FACTS = "facts"
    LOCK = "lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """The known properties of a machine, an environment or a lock; None, or an absent key, if unknown.

    Attributes:
        name: Name given by the user.
        driver_cuda: Newest CUDA that the driver supports.
        packages: Version of each Python distribution by normalized name; empty if unknown.
        environment: Id of the row that it is, for a lock.
        variables: Relevant environment variables that are set; None if unknown.
        has_all_variables: Whether what is not among them is known not to be set.
        processes: Names of processes that hold GPU memory, by number.
        memory: Bytes of main memory.
        limit: Bytes that the control group allows; None without a limit, or if unknown.
        shm: Bytes of /dev/shm.
        features: Instruction sets of the processor, by name, such as `avx`.
        host: The machine, as far as which environments run on it; None for a lock.
    """

    name: str
    kind: SystemKind
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


class AppliesTo(StrEnum):
    """The system that an effect applies to."""

    A = "A"
    B = "B"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The effect of a difference.

    Attributes:
        out_of_memory: Whether that explains an out-of-memory on that system which the other does not have.
    """

    applies_to: AppliesTo
    text: str
    out_of_memory: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One property that differs.

    Attributes:
        a: Value of the first system; empty if unknown.
        b: Value of the second system, likewise.
        effects: Effects on TensorFlow, on each system; may be empty.
    """

    topic: str
    a: str
    b: str
    effects: tuple[Effect, ...] = ()

    @property
    def is_known(self) -> bool:
        """True if both values are known."""
        return bool(self.a and self.b)


@dataclass(frozen=True, slots=True, kw_only=True)
class Perspective:
    """One system beside the other, with the catalog for the effects on TensorFlow."""

    applies_to: AppliesTo
    system: System
    other: System
    catalog: Catalog

    def effect(self, text: str, *, out_of_memory: bool = False) -> Effect:
        """Return an effect on the system."""
        return Effect(applies_to=self.applies_to, text=text, out_of_memory=out_of_memory)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedProperty(Generic[T]):
    """One thing to compare.

    Attributes:
        read: Returns the value of a system; None if unknown.
        show: Returns the value in words.
        effects: Returns the effects of a difference; only called if both values are known and differ.
        is_software: True if a lock contains it.
        is_same: Returns True if two values count as equal.
    """

    name: str
    read: Callable[[System], T | None]
    show: Callable[[T], str] = str
    effects: Callable[[Perspective], Iterator[Effect]] = lambda _: iter(())
    is_software: bool = False
    is_same: Callable[[T, T], bool] = lambda one, other: one == other

    def compare(self, a: System, b: System, catalog: Catalog) -> Difference | None:
        """Return the difference of two systems, with equal texts if there is none; None if neither is known."""
        one, other = self.read(a), self.read(b)
        if one is None and other is None:
            return None
        shown = ("" if one is None else self.show(one)), ("" if other is None else self.show(other))
        if one is None or other is None:
            return Difference(topic=self.name, a=shown[0], b=shown[1])
        if self.is_same(one, other):
            return Difference(topic=self.name, a=shown[0], b=shown[0])
        views = (
            Perspective(applies_to=AppliesTo.A, system=a, other=b, catalog=catalog),
            Perspective(applies_to=AppliesTo.B, system=b, other=a, catalog=catalog),
        )
        effects = tuple(effect for view in views for effect in self.effects(view))
        return Difference(topic=self.name, a=shown[0], b=shown[1], effects=effects)


def nearly(one: int, other: int) -> bool:
    """Return True if two sizes are equal within the 2 % that a driver reserves."""
    return abs(one - other) * 50 <= max(one, other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All differences between two systems.

    Attributes:
        differences: Differences known on both, most important first.
        unknown: Properties known on one only.
    """

    a: System
    b: System
    differences: tuple[Difference, ...]
    unknown: tuple[Difference, ...]
    same: tuple[str, ...]

    @property
    def out_of_memory(self) -> tuple[Effect, ...]:
        """Effects that explain an out-of-memory on one system only."""
        return tuple(effect for difference in self.differences for effect in difference.effects if effect.out_of_memory)

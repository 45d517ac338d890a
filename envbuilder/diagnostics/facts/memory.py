"""Facts about the memory policy, as typed values."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.diagnostics.facts.hardware import Measured


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
        patched: Modules of TensorFlow that it changed, in the order of their import.
        force_growth: TF_FORCE_GPU_ALLOW_GROWTH; empty when it is not set.
        allocator: TF_GPU_ALLOCATOR; empty when it is not set.
        received: Settings that TensorFlow received; None without the hook.
    """

    variable: str
    hook: bool
    patched: tuple[str, ...]
    force_growth: str
    allocator: str
    received: ReceivedMemory | None

"""Memory of the host, processor, kernel, C library and environment variables side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envbuilder.core.units import size
from envbuilder.diagnostics.compare.comparison import Effect, Side
from envbuilder.diagnostics.compare.properties import ComparedProperty, Pair, nearly

# These have topics of their own.
_TOLD = frozenset({"ENVBUILDER_MEMORY", "TF_FORCE_GPU_ALLOW_GROWTH", "TF_GPU_ALLOCATOR", "NVIDIA_TF32_OVERRIDE"})


def _mains(pair: Pair) -> Iterator[Effect]:
    for where, mine, other in pair.sides:
        have, there = mine.main_memory, other.main_memory
        if have is not None and there is not None and have < there:
            limited = "its control group" if mine.limit == have else "the kernel"
            text = (
                f"{limited} ends the process (status 137, `Killed`) where data or a loader wants more than {size(have)}"
            )
            yield Effect(where=where, text=text, out_of_memory=True)


def _shms(pair: Pair) -> Iterator[Effect]:
    for where, mine, other in pair.sides:
        if mine.shm is not None and other.shm is not None and mine.shm < other.shm:
            text = "NCCL and loaders with several processes use it: `Bus error` when it is full; `--shm-size`"
            yield Effect(where=where, text=text)


def _features(side: Side) -> Mapping[str, bool] | None:
    return side.features or None


def _shown(features: Mapping[str, bool]) -> str:
    return ", ".join(name for name, there in sorted(features.items()) if there) or "none of AVX, AVX2, FMA"


def _instructions(pair: Pair) -> Iterator[Effect]:
    for where, mine, other in pair.sides:
        if mine.features.get("avx") is False:
            yield Effect(
                where=where, text="TensorFlow is terminated by SIGILL at import, from 1.5.1 on: its wheels use AVX"
            )
        elif mine.features.get("avx512f") and other.features.get("avx512f") is False:
            yield Effect(
                where=where,
                text="oneDNN and Eigen use AVX-512: faster on the CPU, and the last digits of results differ",
            )


def _glibcs(pair: Pair) -> Iterator[Effect]:
    for where, mine, other in pair.sides:
        if mine.glibc is not None and other.glibc is not None and mine.glibc < other.glibc:
            text = "matters without a container only: a wheel that was built for a later one does not load"
            yield Effect(where=where, text=text)


def _variables(side: Side) -> tuple[tuple[str, str], ...] | None:
    if side.variables is None:
        return None
    return tuple(sorted((name, value) for name, value in side.variables.items() if name not in _TOLD))


def _visible(pair: Pair) -> Iterator[Effect]:
    for where, mine, other in pair.sides:
        name = "CUDA_VISIBLE_DEVICES"
        have = (mine.variables or {}).get(name)
        if have is not None and have != (other.variables or {}).get(name):
            yield Effect(where=where, text=f"TensorFlow sees the GPUs {have} only ({name})")


HOST_PROPERTIES: tuple[ComparedProperty[int] | ComparedProperty[Mapping[str, bool]] | ComparedProperty[str], ...] = (
    ComparedProperty(name="main memory", read=lambda side: side.main_memory, show=size, effects=_mains, is_same=nearly),
    ComparedProperty(
        name="shared memory (/dev/shm)", read=lambda side: side.shm, show=size, effects=_shms, is_same=nearly
    ),
    ComparedProperty(name="instructions", read=_features, show=_shown, effects=_instructions),
    ComparedProperty(name="processor", read=lambda side: side.cpu or None),
)

SYSTEM_PROPERTIES: tuple[ComparedProperty[tuple[tuple[str, str], ...]] | ComparedProperty[str], ...] = (
    ComparedProperty(
        name="environment variables",
        read=_variables,
        show=lambda found: ", ".join(f"{name}={value}" for name, value in found) or "none",
        effects=_visible,
        is_software=True,
    ),
    ComparedProperty(name="glibc", read=lambda side: str(side.glibc) if side.glibc else None, effects=_glibcs),
    ComparedProperty(name="kernel", read=lambda side: side.kernel or None),
)

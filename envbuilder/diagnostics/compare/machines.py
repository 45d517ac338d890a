"""Memory of the host, processor, kernel, C library and environment variables side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envbuilder.core.units import size
from envbuilder.diagnostics.compare.comparison import ComparedProperty, Effect, Perspective, System, nearly

# These have topics of their own.
_TOLD = frozenset({"ENVBUILDER_MEMORY", "TF_FORCE_GPU_ALLOW_GROWTH", "TF_GPU_ALLOCATOR", "NVIDIA_TF32_OVERRIDE"})


def _mains(view: Perspective) -> Iterator[Effect]:
    have, there = view.system.main_memory, view.other.main_memory
    if have is not None and there is not None and have < there:
        limited = "its control group" if view.system.limit == have else "the kernel"
        text = f"{limited} ends the process (status 137, `Killed`) where data or a loader wants more than {size(have)}"
        yield view.effect(text, out_of_memory=True)


def _shms(view: Perspective) -> Iterator[Effect]:
    if view.system.shm is not None and view.other.shm is not None and view.system.shm < view.other.shm:
        yield view.effect("NCCL and loaders with several processes use it: `Bus error` when it is full; `--shm-size`")


def _features(system: System) -> Mapping[str, bool] | None:
    return system.features or None


def _shown(features: Mapping[str, bool]) -> str:
    return ", ".join(name for name, there in sorted(features.items()) if there) or "none of AVX, AVX2, FMA"


def _instructions(view: Perspective) -> Iterator[Effect]:
    if view.system.features.get("avx") is False:
        yield view.effect("TensorFlow is terminated by SIGILL at import, from 1.5.1 on: its wheels use AVX")
    elif view.system.features.get("avx512f") and view.other.features.get("avx512f") is False:
        yield view.effect("oneDNN and Eigen use AVX-512: faster on the CPU, and the last digits of results differ")


def _glibcs(view: Perspective) -> Iterator[Effect]:
    if view.system.glibc is not None and view.other.glibc is not None and view.system.glibc < view.other.glibc:
        yield view.effect("matters without a container only: a wheel that was built for a later one does not load")


def _variables(system: System) -> tuple[tuple[str, str], ...] | None:
    if system.variables is None:
        return None
    return tuple(sorted((name, value) for name, value in system.variables.items() if name not in _TOLD))


def _visible(view: Perspective) -> Iterator[Effect]:
    name = "CUDA_VISIBLE_DEVICES"
    have = (view.system.variables or {}).get(name)
    if have is not None and have != (view.other.variables or {}).get(name):
        yield view.effect(f"TensorFlow sees the GPUs {have} only ({name})")


HOST_PROPERTIES: tuple[ComparedProperty[int] | ComparedProperty[Mapping[str, bool]] | ComparedProperty[str], ...] = (
    ComparedProperty(
        name="main memory", read=lambda system: system.main_memory, show=size, effects=_mains, is_same=nearly
    ),
    ComparedProperty(
        name="shared memory (/dev/shm)", read=lambda system: system.shm, show=size, effects=_shms, is_same=nearly
    ),
    ComparedProperty(name="instructions", read=_features, show=_shown, effects=_instructions),
    ComparedProperty(name="processor", read=lambda system: system.cpu or None),
)

SYSTEM_PROPERTIES: tuple[ComparedProperty[tuple[tuple[str, str], ...]] | ComparedProperty[str], ...] = (
    ComparedProperty(
        name="environment variables",
        read=_variables,
        show=lambda found: ", ".join(f"{name}={value}" for name, value in found) or "none",
        effects=_visible,
        is_software=True,
    ),
    ComparedProperty(name="glibc", read=lambda system: str(system.glibc) if system.glibc else None, effects=_glibcs),
    ComparedProperty(name="kernel", read=lambda system: system.kernel or None),
)

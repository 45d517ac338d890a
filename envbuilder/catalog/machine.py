"""Machines that environments run on, and models of GPUs by their names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from envbuilder.catalog.cuda import CudaFacts
from envbuilder.catalog.gpus import GpuModel
from envbuilder.core.errors import UsageError
from envbuilder.core.versions import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class HostGpu:
    """One GPU.

    Attributes:
        name: Such as `NVIDIA A100-SXM4-40GB`; empty if unknown.
        capability: Compute capability; None when unknown.
        memory: Bytes; None when unknown.
        free: Bytes that were free at the time of the probe; None if unknown.
    """

    name: str
    capability: Release | None
    memory: int | None = None
    free: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One machine; unknown properties are None.

    Attributes:
        name: Its name in output: a file of facts, or a description.
        library: Release of the driver's library in user space; None if unknown. Newer than `driver` if NVIDIA's package
            for forward compatibility is in use.
        cuda: Newest CUDA release that the driver reports as supported.
        gpus: Its GPUs; empty if there are none.
        machine: Such as `x86_64`.
        glibc: The C library of the host, which an environment without a container uses; an image contains its own.
        memory: Bytes of main memory, or the limit of the control group.
        shm: Bytes of /dev/shm.
        is_described: Whether the user described it instead of a probe; properties that were not given do not matter.
    """

    name: str
    driver: Release | None = None
    library: Release | None = None
    cuda: Release | None = None
    gpus: tuple[HostGpu, ...] | None = None
    machine: str | None = None
    glibc: Release | None = None
    avx: bool | None = None
    fma: bool | None = None
    memory: int | None = None
    shm: int | None = None
    is_described: bool = False


_VENDOR = re.compile(r"\b(nvidia|geforce|tesla|quadro|grid|gpu)\b")
_GLUED = re.compile(r"^(rtx|gtx|titan)(?=[\dx])")
_TI = re.compile(r"(?<=\d)(ti|super)\b")
_CAPABILITY = re.compile(r"(?:sm_?|cc ?)?(\d{1,2})\.(\d)")
_SM = re.compile(r"sm_?(\d{1,2})(\d)")


def gpu_asked(facts: CudaFacts, text: str) -> HostGpu:
    """Return the GPU for a name or a compute capability such as `8.6`.

    Raises:
        UsageError: No known GPU has this name.
    """
    number = _CAPABILITY.fullmatch(text.strip().lower()) or _SM.fullmatch(text.strip().lower())
    if number:
        return HostGpu(name="", capability=Release(f"{number[1]}.{number[2]}"))
    model = model_named(facts, text)
    if model is None:
        near = difflib.get_close_matches(text.lower(), [gpu.name.lower() for gpu in facts.gpus], 1, 0.5)
        meant = f"did you mean {near[0]}? Or " if near else ""
        raise UsageError(
            f"the catalog has no GPU named {text!r}",
            hint=f"{meant}specify its compute capability, such as 8.6: `nvidia-smi --query-gpu=name,compute_cap"
            " --format=csv`",
        )
    return HostGpu(name=text.strip(), capability=model.capability)


def model_named(facts: CudaFacts, text: str) -> GpuModel | None:
    """Return the GPU for a name as users or NVML write it; None if it is unknown."""
    for name in _readings(text):
        for model in facts.gpus:
            if any(re.fullmatch(pattern, name) for pattern in model.names):
                return model
    return None


def is_for_data_centers(facts: CudaFacts, text: str) -> bool:
    """Return True if a name is that of a data-centre GPU of NVIDIA; False if that is unknown."""
    patterns = [pattern for model in facts.gpus for pattern in model.data_center]
    return any(re.fullmatch(pattern, name) for name in _readings(text) for pattern in patterns)


def is_sold_with_arm(facts: CudaFacts, text: str) -> bool:
    """Return True if a name is that of a GPU that exists only in machines with an Arm processor."""
    return any(re.fullmatch(pattern, name) for name in _readings(text) for pattern in facts.arm)


def capability_of(facts: CudaFacts, gpu: HostGpu) -> Release | None:
    """Return the compute capability of a host's GPU, from the driver or else by its name; None if neither is known."""
    if gpu.capability is not None:
        return gpu.capability
    model = model_named(facts, gpu.name)
    return model.capability if model else None


def _readings(text: str) -> Iterator[str]:
    """Yield the possible readings of a name: without the vendor's words, then with fewer and fewer words at the end.

    Example:
        >>> list(_readings("NVIDIA A100-SXM4-40GB"))
        ['a100 sxm4 40gb', 'a100 sxm4', 'a100']
    """
    plain = _TI.sub(r" \1", _VENDOR.sub(" ", text.lower()))
    words = re.sub(r"[-_/()]", " ", plain).split()
    if words:
        words = [*_GLUED.sub(r"\1 ", words[0]).split(), *words[1:]]
    for count in range(len(words), 0, -1):
        yield " ".join(words[:count])
    if words and words[0].isdigit():
        yield f"rtx {' '.join(words)}"
        yield f"gtx {' '.join(words)}"

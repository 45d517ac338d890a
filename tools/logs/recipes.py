"""What a log is made by: one function for each, in a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tools.logs.bench import Bench

CLASSES = frozenset(
    {
        *("driver-too-old", "driver-library-mismatch", "no-driver-or-gpu-not-passed", "container-toolkit-missing"),
        *("cuda-soname-missing", "cudnn-missing", "cudnn-version-mismatch", "cudnn-init-failed", "cuda-unknown-error"),
        *("visible-devices-mistake", "gpu-arch-unsupported", "ptx-jit", "gpu-ignored", "fork-after-cuda-init"),
        *("oom-batch-too-large", "oom-other-process", "oom-preallocation", "oom-fragmentation", "host-oom"),
        *("corrupt-nv-cache", "shm-or-nccl", "keras-tf-mismatch", "protobuf-mismatch", "numpy-abi", "h5py-decode"),
        *("setuptools-pkg-resources", "mixed-install", "xla-libdevice-ptxas", "glibc-too-old", "static-tls"),
        *("cpu-no-avx", "wrong-python-version", "wsl", "hardware-fault", "user-code", "harmless-noise"),
        "harmless-cpu-only",
    }
)
"""Classes of causes that `diagnose` knows."""

BEYOND = frozenset({"corrupt-download"})
"""Classes of logs made here that have no place among `CLASSES`."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One log; what it means (`env`, `cause`, `fix`) stands in its case.

    Attributes:
        kind: Its class.
        name: Tells it from others of its class; `real-KIND-NAME` is its id.
        make: Does it.
        arranged: What stood in for the real thing, else empty.
    """

    kind: str
    name: str
    make: Callable[[Bench], None]
    arranged: str = ""

    @property
    def id(self) -> str:
        """Name of the case and of its file."""
        return f"real-{self.kind}-{self.name}"


RECIPES: dict[str, Recipe] = {}


def log(kind: str, name: str, *, arranged: str = "") -> Callable[[Callable[[Bench], None]], Callable[[Bench], None]]:
    """Put a function into the table."""

    def keep(make: Callable[[Bench], None]) -> Callable[[Bench], None]:
        recipe = Recipe(kind=kind, name=name, arranged=arranged, make=make)
        if kind not in CLASSES | BEYOND or recipe.id in RECIPES:
            raise ValueError(f"{recipe.id} is of no known class, or stands here twice")
        RECIPES[recipe.id] = recipe
        return make

    return keep

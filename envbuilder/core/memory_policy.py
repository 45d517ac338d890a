"""Memory policies of TensorFlow for each GPU, and their canonical text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, cast

from envbuilder.core.field_rules import NotEmpty, Parsed
from envbuilder.core.image_layout import HOOK_FILE
from envbuilder.core.structure import load

VARIABLE = "ENVBUILDER_MEMORY"
"""Environment variable with the policy of a container; overrides that of the image."""

HOOK = "memory-hook"
"""Name of the hook among the tools of a lock."""

START_NAME = "envbuilder_memory.pth"
"""Name of the file in `site-packages` with `START`."""

START = (
    f'import os; os.environ.get("{VARIABLE}", "all") in ("", "all") or eval(compile('
    f'open("/{HOOK_FILE}").read().partition("# --- the rest")[0], "/{HOOK_FILE}", "exec"), '
    f'{{"__name__": "envbuilder_memory_start", "__file__": "/{HOOK_FILE}"}})'
)
"""Line of a .pth file that runs the hook at the start of the interpreter, unless the policy is the default."""

LEAST = 256 << 20
"""Smallest limit in bytes; the workspaces of cuBLAS and cuDNN alone need tens of MiB."""

_UNITS = {"GiB": 1 << 30, "GB": 10**9, "MiB": 1 << 20, "MB": 10**6, "KiB": 1 << 10, "": 1}
"""Bytes of each unit, in the order of preference for output."""

_SIZE = re.compile(r"([0-9]{1,19})(GiB|GB|MiB|MB|KiB|)")
_SHARE = re.compile(r"[01](\.[0-9]{1,9})?")
_EXPECTED = "all, growth, fraction:0.8, limit:4GiB or async-allocator"


class Way(StrEnum):
    """Mode of allocating the memory of a GPU.

    `all`: TensorFlow's default, nearly all memory at the start. `growth`: on demand, never released. `fraction`: a part
    of the device's memory. `limit`: a number of bytes. `async-allocator`: by CUDA's pool, on demand.
    """

    ALL = "all"
    GROWTH = "growth"
    FRACTION = "fraction"
    LIMIT = "limit"
    ASYNC = "async-allocator"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuMemory:
    """Policy for one GPU.

    Attributes:
        way: Mode of allocation.
        share: Part of the device's memory, above 0 and at most 1; 0 for every other way.
        limit: Bytes; 0 for every other way.
    """

    way: Way
    share: Decimal = Decimal(0)
    limit: int = 0

    def __str__(self) -> str:
        match self.way:
            case Way.FRACTION:
                return f"{self.way}:{self.share}"
            case Way.LIMIT:
                return f"{self.way}:{_size(self.limit)}"
            case _:
                return self.way.value

    @property
    def words(self) -> str:
        """Behaviour of TensorFlow, in words."""
        match self.way:
            case Way.ALL:
                return "nearly all memory at start (TensorFlow's default)"
            case Way.GROWTH:
                return "on demand, never released"
            case Way.FRACTION:
                return f"{self.share} of the memory of each GPU, at start"
            case Way.LIMIT:
                return f"at most {_size(self.limit)} of each GPU"
            case Way.ASYNC:
                return "on demand, from CUDA's memory pool"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPolicy:
    """Policy for all GPUs.

    Attributes:
        gpus: A single entry applies to every GPU; several apply to one GPU each, in the order of TensorFlow.
    """

    gpus: tuple[GpuMemory, ...] = (GpuMemory(way=Way.ALL),)

    def __str__(self) -> str:
        return ",".join(str(gpu) for gpu in self.gpus)

    @property
    def is_default(self) -> bool:
        """True if the policy is TensorFlow's default."""
        return all(gpu.way is Way.ALL for gpu in self.gpus)

    @property
    def is_async(self) -> bool:
        """True if CUDA's own pool is used."""
        return self.gpus[0].way is Way.ASYNC


ALL = MemoryPolicy()
GROWTH = MemoryPolicy(gpus=(GpuMemory(way=Way.GROWTH),))


def parse(text: str) -> MemoryPolicy:
    """Parse the canonical text, or another spelling of the same policy.

    Raises:
        ValueError: It is not a memory policy.

    Example:
        >>> str(parse("limit:4096MiB,growth"))
        'limit:4GiB,growth'
    """
    return together(tuple(_parse_one(part.strip()) for part in text.split(",")))


def _parse_one(text: str) -> GpuMemory:
    """Parse the policy for one GPU.

    Raises:
        ValueError: It is not a memory policy.
    """
    name, colon, amount = text.partition(":")
    if name == Way.FRACTION and colon:
        return _fraction(amount)
    if name == Way.LIMIT and colon:
        return limit(amount)
    if text not in {Way.ALL, Way.GROWTH, Way.ASYNC}:
        raise ValueError(f"{text!r} is not a memory policy: {_EXPECTED}")
    return GpuMemory(way=Way(text))


def _fraction(text: str) -> GpuMemory:
    """Return the policy for a part of a device's memory, such as `0.8`.

    Raises:
        ValueError: Not above 0 and at most 1; above 1 TensorFlow would use memory of the host.
    """
    share = Decimal(text) if _SHARE.fullmatch(text) else Decimal(0)
    if not 0 < share <= 1:
        raise ValueError(f"{text!r} is not a fraction: must be > 0 and <= 1, such as 0.8")
    plain = f"{share:f}"
    return GpuMemory(way=Way.FRACTION, share=Decimal(plain.rstrip("0").rstrip(".") if "." in plain else plain))


def limit(text: str) -> GpuMemory:
    """Return the policy for a number of bytes, such as `4GiB`.

    Raises:
        ValueError: It is not an integer with a known unit, or is less than `LEAST`.
    """
    match = _SIZE.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not a size: must be a whole number with KiB, MiB, GiB, MB or GB, such as 4GiB")
    size = int(match[1]) * _UNITS[match[2]]
    if size < LEAST:
        raise ValueError(f"{text!r} is less than {_size(LEAST)}, the minimum for TensorFlow to start on a GPU")
    return GpuMemory(way=Way.LIMIT, limit=size)


def together(gpus: tuple[GpuMemory, ...]) -> MemoryPolicy:
    """Return one policy from those of each GPU.

    Raises:
        ValueError: They cannot be combined in one process.
    """
    ways = {gpu.way for gpu in gpus}
    if Way.ASYNC in ways and len(gpus) > 1:
        raise ValueError("async-allocator applies to all GPUs of a process: it cannot be combined with other policies")
    if ways >= {Way.ALL, Way.GROWTH}:
        raise ValueError("all and growth are mutually exclusive: TensorFlow has one growth setting for all GPUs")
    return MemoryPolicy(gpus=gpus)


def plain_policy(value: object) -> MemoryPolicy:
    """Return the memory policy of a YAML document.

    `growth`, `{limit: "4GiB"}` and `["growth", {fraction: "0.8"}]` are policies.

    Raises:
        ValueError: It is not a memory policy; `Mismatched` if a part of it is not one.
    """
    if isinstance(value, list):
        return together(load(_GPUS, value))
    return together((_gpu(value),)) if isinstance(value, dict) else cast("MemoryPolicy", load(_POLICY, value))


def _gpu(value: object) -> GpuMemory:
    if not isinstance(value, dict):
        return cast("GpuMemory", load(_ONE, value))
    if len(value) != 1 or not value.keys() <= _AMOUNTS.keys():
        raise ValueError("must have one field: fraction or limit")
    [(way, amount)] = value.items()
    return cast("GpuMemory", load(_AMOUNTS[way], amount, at=(way,)))


def _size(size: int) -> str:
    unit = next(unit for unit, length in _UNITS.items() if size % length == 0)
    return f"{size // _UNITS[unit]}{unit}"


_POLICY: Any = Annotated[MemoryPolicy, Parsed(parse)]
_ONE: Any = Annotated[GpuMemory, Parsed(_parse_one)]
_AMOUNTS: dict[str, Any] = {
    "fraction": Annotated[GpuMemory, Parsed(_fraction)],
    "limit": Annotated[GpuMemory, Parsed(limit)],
}
_GPUS: Any = Annotated[tuple[Annotated[GpuMemory, Parsed(_gpu, of=object)], ...], NotEmpty()]

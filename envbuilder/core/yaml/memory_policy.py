"""Parser of a memory policy in YAML: a text, a mapping, or a list of these."""

from __future__ import annotations

from typing import Annotated, Any, cast

from envbuilder.core.field_rules import NotEmpty, Parsed
from envbuilder.core.memory_policy import GpuMemory, MemoryPolicy, fraction, limit, parse, parse_one, together
from envbuilder.core.structure import load

_POLICY: Any = Annotated[MemoryPolicy, Parsed(parse)]
_ONE: Any = Annotated[GpuMemory, Parsed(parse_one)]
_AMOUNTS: dict[str, Any] = {
    "fraction": Annotated[GpuMemory, Parsed(fraction)],
    "limit": Annotated[GpuMemory, Parsed(limit)],
}


def memory_policy(value: object) -> MemoryPolicy:
    """Return a memory policy: `growth`, `{limit: "4GiB"}` and `["growth", {fraction: "0.8"}]` are policies.

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


_GPUS: Any = Annotated[tuple[Annotated[GpuMemory, Parsed(_gpu, of=object)], ...], NotEmpty()]

"""Transfers of layers and blobs, and what a push transferred, as values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """Bytes on their way: a layer that is pulled, pushed or exported.

    Attributes:
        item: What is moved.
        current: Bytes so far.
        total: Bytes in all; 0 when unknown.
    """

    item: str
    current: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PushResult:
    """A finished push.

    Attributes:
        reference: `repository:tag` that was pushed.
        digest: Manifest digest that the registry gave.
        pushed_bytes: Bytes of layers sent, as the engine counted them.
        pushed_layers: Layers sent.
        present_layers: Layers that the registry had already.
        seconds: Wall time.
    """

    reference: str
    digest: str
    pushed_bytes: int
    pushed_layers: int
    present_layers: int
    seconds: float

"""Progress of layer and blob transfers, and the result of a push."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """Progress of a file or layer that is fetched, pulled, pushed or exported.

    Attributes:
        item: File, layer or blob.
        current: Bytes so far.
        total: Bytes in all; 0 if unknown.
    """

    item: str
    current: int
    total: int

    @property
    def is_complete(self) -> bool:
        """True if all bytes are there; False while the total is unknown."""
        return 0 < self.total <= self.current


Listener: TypeAlias = Callable[[Transfer], None]


def ignore(_transfer: Transfer) -> None:
    """Ignore progress."""


def reported(listener: Listener, item: str) -> Callable[[int, int], None]:
    """Return a progress callback that receives the bytes of an item so far, and in all, and reports them."""
    return lambda current, total: listener(Transfer(item=item, current=current, total=total))


@dataclass(frozen=True, slots=True, kw_only=True)
class PushResult:
    """A finished push.

    Attributes:
        reference: `repository:tag` that was pushed.
        digest: Manifest digest that the registry reported.
        pushed_bytes: Bytes of layers sent, as counted by the engine.
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

"""Everything that locking asks of the world, as fakes."""

from __future__ import annotations

from collections.abc import Callable

from envbuilder.catalog.environments import BaseKind
from envbuilder.image.plan.layers import HEAVY
from envbuilder.lock.closures import Chosen, Closure
from envbuilder.lock.create import LockPorts, OsResolver
from envbuilder.lock.lock import ToolPin
from envbuilder.lock.resolve.resolver import Resolution, Resolver
from envbuilder.lock.resolve.shipped_closures import ShippedClosures
from tests.fakes.resolver import FakeOsResolver, FakeResolver, made_up_sha256
from tests.fakes.sources import FakeBases, FakePythons

HOOK = ToolPin(name="memory-hook", version="0.1.0", sha256=made_up_sha256("memory-hook"))
PROBE = ToolPin(name="probe", version="0.1.0", sha256=made_up_sha256("probe"))
UV = ToolPin(name="uv", version="0.13.0", sha256=made_up_sha256("uv"))


class NothingShipped:
    """Rows that ship no closures."""

    def find(self, row: str, request: Resolution) -> Closure | None:  # noqa: ARG002  the port names them
        return None


def _size(chosen: Chosen) -> int:
    """What is large in reality is large here."""
    return HEAVY + 1 if chosen.name.startswith("nvidia-") or chosen.name in {"numpy", "grpcio"} else 1000


def lock_ports(
    *,
    bases: FakeBases | None = None,
    pythons: FakePythons | None = None,
    shipped: ShippedClosures | None = None,
    resolver: Resolver | None = None,
    os_resolver: OsResolver | None = None,
    tools: tuple[ToolPin, ...] = (HOOK, PROBE, UV),
    notice: Callable[[str], None] = lambda _: None,
) -> LockPorts:
    """Ports where everything can be had, but for what is given."""
    found = bases or FakeBases()
    return LockPorts(
        bases=dict.fromkeys(BaseKind, found),
        pythons=pythons or FakePythons(),
        shipped=shipped or NothingShipped(),
        resolver=resolver or FakeResolver(),
        os_resolver=os_resolver or FakeOsResolver(),
        measure=lambda chosen, _python: [_size(each) for each in chosen],
        tools=tools,
        notice=notice,
    )

"""Everything that locking asks of the world, as fakes."""

from __future__ import annotations

from collections.abc import Sequence

from envbuilder.catalog.environments import BaseKind
from envbuilder.image.plan.layers import HEAVY
from envbuilder.lock.closures import Chosen, Closure
from envbuilder.lock.create import IngredientSources, OsResolver
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


def fake_sizes(chosen: Sequence[Chosen], python: str) -> Sequence[int]:
    """What is large in reality is large here."""
    return [HEAVY + 1 if _is_large(each.name) else 1000 for each in chosen]


def _is_large(name: str) -> bool:
    return name.startswith("nvidia-") or name in {"numpy", "grpcio"}


def lock_ports(
    *,
    bases: FakeBases | None = None,
    pythons: FakePythons | None = None,
    shipped: ShippedClosures | None = None,
    resolver: Resolver | None = None,
    os_resolver: OsResolver | None = None,
    tools: tuple[ToolPin, ...] = (HOOK, PROBE, UV),
) -> IngredientSources:
    """Sources where everything can be had, but for what is given."""
    found = bases or FakeBases()
    return IngredientSources(
        bases=dict.fromkeys(BaseKind, found),
        pythons=pythons or FakePythons(),
        shipped=shipped or NothingShipped(),
        packages=resolver or FakeResolver(),
        os_packages=os_resolver or FakeOsResolver(),
        sizes=fake_sizes,
        tools=tools,
    )

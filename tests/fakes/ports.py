"""Everything that locking asks of the world, as fakes."""

from __future__ import annotations

from collections.abc import Callable

from envbuilder.locking.resolver import Resolver
from envbuilder.model.locks import ToolPin
from envbuilder.model.rows import BaseKind
from envbuilder.workflows.lock import LockPorts, OsResolver
from tests.fakes.resolver import FakeOsResolver, FakeResolver, made_up_sha256
from tests.fakes.sources import FakeBases, FakePythons

UV = ToolPin(name="uv", version="0.13.0", sha256=made_up_sha256("uv"))


def lock_ports(
    *,
    bases: FakeBases | None = None,
    pythons: FakePythons | None = None,
    resolver: Resolver | None = None,
    os_resolver: OsResolver | None = None,
    notice: Callable[[str], None] = lambda _: None,
) -> LockPorts:
    """Ports where everything can be had, but for what is given."""
    found = bases or FakeBases()
    return LockPorts(
        bases=dict.fromkeys(BaseKind, found),
        pythons=pythons or FakePythons(),
        resolver=resolver or FakeResolver(),
        os_resolver=os_resolver or FakeOsResolver(),
        tools=(UV,),
        notice=notice,
    )

"""Warnings before `build` and `validate` start."""

from __future__ import annotations

from collections.abc import Iterable

from envbuilder.catalog.environments import Catalog
from envbuilder.cli.output.printing import warning
from envbuilder.diagnostics.preflight import misfits
from envbuilder.diagnostics.probe.this_host import is_windows_subsystem, quick_host
from envbuilder.image.docker.engine import is_local
from envbuilder.lock.lock import Lock
from envbuilder.wiring.settings import Settings


def warn_before_build(settings: Settings, catalog: Catalog, locks: Iterable[Lock]) -> None:
    """Warn of images that will not run on this host, which may differ from the host that will run them."""
    host = quick_host() if is_local(settings.environ) else None
    for lock in locks if host else ():
        _warn(
            misfits(catalog, lock.environment, lock.base.id, host),
            f"{lock.environment} will be built, but does not run here",
        )


def warn_before_gpus(settings: Settings, catalog: Catalog, environment: str, base: str = "") -> None:
    """Warn of reasons why validating on GPUs will fail on this host."""
    if not is_local(settings.environ):
        return
    host = quick_host()
    if host is None and not is_windows_subsystem():
        _warn(("no NVIDIA driver is loaded here (/proc/driver/nvidia); what needs a GPU will fail",), "tier gpu")
        return
    _warn(misfits(catalog, environment, base, host), f"{environment} does not run here")


def _warn(reasons: tuple[str, ...], headline: str) -> None:
    if reasons:
        warning("\n".join((f"{headline}: {reasons[0]}", *reasons[1:])))

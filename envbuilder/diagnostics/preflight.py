"""Warnings about images that do not run on the host that builds or validates them, before the work starts."""

from __future__ import annotations

from dataclasses import replace

from envbuilder.catalog.compatibility import judge
from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.machine import Host
from envbuilder.catalog.verdicts import Fit


def misfits(catalog: Catalog, environment: str, base: str, host: Host | None) -> tuple[str, ...]:
    """Return the reason why an image of an environment does not run on a host, and the remedy.

    Args:
        catalog: The catalog.
        environment: Id of the environment.
        base: Id of the base; empty for the environment's first.
        host: The host; None if it has no driver, because images are built on machines without GPUs too.

    Returns:
        One sentence each, the remedy last; empty if the environment runs, uses no GPU, or is not known.
    """
    row = catalog.environment(environment)
    if host is None or row is None or row.cuda is None:
        return ()
    unnamed, wanted = replace(host, name=""), base or row.bases[0].system.id
    here = next((judge(catalog.cuda, row, each, unnamed) for each in row.bases if each.system.id == wanted), None)
    if here is None or here.fit is not Fit.NO:
        return ()
    others = [each.system.id for each in row.bases if judge(catalog.cuda, row, each, unnamed).fit is not Fit.NO]
    remedy = f"another base: --base {others[0]}" if others else " and ".join(here.changes)
    texts = dict.fromkeys(reason.text for reason in here.deciding)
    return (*texts, f"{remedy}; what does run here: `envbuilder list --fits`")

"""Environments with their compatibility and buildability."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.catalog.buildable import Buildability, Buildable, Inventory, on_base
from envbuilder.catalog.compatibility import judge
from envbuilder.catalog.cuda import CudaFacts
from envbuilder.catalog.environments import Environment
from envbuilder.catalog.machine import Host
from envbuilder.catalog.verdicts import Compatibility, Fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An environment on one of its bases.

    Attributes:
        compatibility: Verdict for the machine.
        buildable: Buildability on this machine.
    """

    compatibility: Compatibility
    buildable: Buildable


def offer(facts: CudaFacts, row: Environment, host: Host, inventory: Inventory) -> Offer:
    """Return an environment on its best base.

    A base that cannot be built comes after all that can, a better verdict before a worse one; of equal ones, the base
    that is certain to be buildable, then the one with fewer caveats, then the first.
    """
    offers = [
        Offer(compatibility=judge(facts, row, choice, host), buildable=on_base(row, choice, inventory))
        for choice in row.bases
    ]
    return min(offers, key=_order)


_FITS = tuple(Fit)


def _order(each: Offer) -> tuple[bool, int, int, int]:
    verdict, build = each.compatibility, each.buildable.verdict
    return (build is Buildability.NO, _FITS.index(verdict.fit), build.rank, len(verdict.caveats))

"""Driver updates that make images run on more nodes: the judge is asked about the same machines with another driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from envbuilder.catalog.machine import Host
from envbuilder.catalog.verdicts import Compatibility
from envbuilder.cluster.fleet.fleet_images import FleetImage
from envbuilder.cluster.fleet.fleet_report import DriverUpdate, GroupVerdict, ImageEffect, ImageVerdicts
from envbuilder.core.versions import Release

Judge: TypeAlias = Callable[[FleetImage, Host], Compatibility]


def driver_updates(verdicts: Sequence[ImageVerdicts], judge: Judge) -> tuple[DriverUpdate, ...]:
    """Return updates of the driver by which at least one image runs on more nodes.

    Args:
        verdicts: The verdicts for the fleet as it is.
        judge: Returns the verdict for an image on a machine.

    Returns:
        Those that help most nodes first, then the older driver. Of drivers with one effect only the oldest is named.
    """
    needed = sorted({driver for each in verdicts for group in each.groups for driver in _needed(group)})
    found = [update for driver in needed if (update := _update(driver, verdicts, judge)).gains]
    effects: dict[object, DriverUpdate] = {}
    for update in found:
        effects.setdefault((update.gains, update.losses), update)
    return tuple(sorted(effects.values(), key=lambda update: (-len(update.nodes), update.to)))


def _needed(group: GroupVerdict) -> Iterator[Release]:
    """Yield the drivers that an image needs on the GPUs of a group where it does not run."""
    if not group.runs:
        for kind in group.compatibility.gpus:
            if kind.driver is not None and kind.driver.known:
                yield kind.driver.least


def _update(driver: Release, verdicts: Sequence[ImageVerdicts], judge: Judge) -> DriverUpdate:
    gains, losses, updated = [], [], {}
    for each in verdicts:
        gained, lost = [], []
        for group in each.groups:
            host = group.group.host
            if not host.gpus or host.driver is None or host.driver >= driver:
                continue
            after = judge(each.image, replace(host, driver=driver, library=None, cuda=None))
            runs = each.image.runs(after.fit)
            if runs and not group.runs:
                gained += group.group.nodes
                updated[group.group.id] = group.group
            elif group.runs and not runs:
                lost += group.group.nodes
        if gained:
            gains.append(ImageEffect(image=each.image.name, nodes=tuple(sorted(gained))))
        if lost:
            losses.append(ImageEffect(image=each.image.name, nodes=tuple(sorted(lost))))
    return DriverUpdate(
        to=driver,
        drivers=tuple(sorted({group.host.driver for group in updated.values() if group.host.driver is not None})),
        nodes=tuple(sorted(node for group in updated.values() for node in group.nodes)),
        gains=tuple(gains),
        losses=tuple(losses),
    )

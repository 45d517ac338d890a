"""Driver updates that make images run on more nodes: the judge is asked about the same machines with another driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from envbuilder.catalog.machine import Host
from envbuilder.catalog.verdicts import Compatibility
from envbuilder.cluster.fleet.fleet_images import FleetImage
from envbuilder.cluster.fleet.fleet_report import DriverUpdate, GroupVerdict, ImageEffect, ImageVerdicts
from envbuilder.cluster.fleet.node_groups import NodeGroup
from envbuilder.core.versions import Release

Judge: TypeAlias = Callable[[FleetImage, Host], Compatibility]


def driver_updates(verdicts: Sequence[ImageVerdicts], judge: Judge) -> tuple[DriverUpdate, ...]:
    """Return updates of the driver by which at least one image runs on more nodes.

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
    gains: list[ImageEffect] = []
    losses: list[ImageEffect] = []
    updated: dict[str, NodeGroup] = {}
    for each in verdicts:
        changed = [group for group in each.groups if _changes(each.image, group, driver, judge)]
        gained = [group.group for group in changed if not group.runs]
        lost = [group.group for group in changed if group.runs]
        updated.update({group.id: group for group in gained})
        gains += _effect(each.image, gained)
        losses += _effect(each.image, lost)
    return DriverUpdate(
        to=driver,
        drivers=tuple(sorted({group.host.driver for group in updated.values() if group.host.driver is not None})),
        nodes=_names(updated.values()),
        gains=tuple(gains),
        losses=tuple(losses),
    )


def _changes(image: FleetImage, group: GroupVerdict, driver: Release, judge: Judge) -> bool:
    """Return True if a newer driver changes whether an image runs on a group."""
    host = group.group.host
    if not host.gpus or host.driver is None or host.driver >= driver:
        return False
    after = judge(image, replace(host, driver=driver, library=None, cuda=None))
    return image.runs(after.fit) != group.runs


def _effect(image: FleetImage, groups: Sequence[NodeGroup]) -> Iterator[ImageEffect]:
    if groups:
        yield ImageEffect(image=image.name, nodes=_names(groups))


def _names(groups: Iterable[NodeGroup]) -> tuple[str, ...]:
    return tuple(sorted(node for group in groups for node in group.nodes))

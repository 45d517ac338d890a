"""Values of a report about a fleet: groups, verdicts, nodes that are not proven, findings, updates, drift."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.catalog.verdicts import Compatibility, Fit
from envbuilder.cluster.fleet.collection import SilentNode, UnreadableNode
from envbuilder.cluster.fleet.fleet_images import FleetImage
from envbuilder.cluster.fleet.node_groups import NodeGroup
from envbuilder.core.versions import Release
from envbuilder.diagnostics.findings import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupVerdict:
    """The verdict for an image on a group of nodes.

    Attributes:
        runs: Whether the image does its work there: on the GPU if it was built for GPUs.
    """

    group: NodeGroup
    compatibility: Compatibility
    runs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageVerdicts:
    """The verdicts for an image on all groups, in their order."""

    image: FleetImage
    groups: tuple[GroupVerdict, ...]

    @property
    def running(self) -> int:
        """Number of nodes that run the image."""
        return sum(len(each.group.nodes) for each in self.groups if each.runs)

    def count(self, fit: Fit) -> int:
        """Return the number of nodes with a verdict."""
        return sum(len(each.group.nodes) for each in self.groups if each.compatibility.fit is fit)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFinding:
    """A finding that several nodes share.

    Attributes:
        finding: The finding; its message is that of the first node.
        nodes: Names, sorted; at least one.
        others: Whether the message differs on other nodes.
    """

    finding: Finding
    nodes: tuple[str, ...]
    others: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageEffect:
    """The nodes on which an update changes whether an image runs."""

    image: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverUpdate:
    """A driver release that makes images run on more nodes, as the judge says of the same machines with that driver.

    Attributes:
        to: The oldest driver with this effect.
        drivers: Drivers of the nodes now, ascending.
        nodes: Nodes on which at least one more image runs, sorted.
        gains: Images with the nodes on which they run in addition.
        losses: Images with the nodes on which they would no longer run.
    """

    to: Release
    drivers: tuple[Release, ...]
    nodes: tuple[str, ...]
    gains: tuple[ImageEffect, ...]
    losses: tuple[ImageEffect, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftChange:
    """A difference between two collections that several nodes share.

    Attributes:
        topic: What differs, such as `driver`.
        before: Value in the earlier collection; empty if unknown.
        now: Value in this one; likewise.
        nodes: Names, sorted.
    """

    topic: str
    before: str
    now: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """The differences of a fleet from an earlier collection; names are sorted.

    Attributes:
        since: Directory of the earlier collection.
        changes: Those of most nodes first.
        new: Nodes with facts that had none before.
        lost: Nodes that had facts before and have none now.
        same: Number of nodes without a difference.
    """

    since: str
    changes: tuple[DriftChange, ...]
    new: tuple[str, ...]
    lost: tuple[str, ...]
    same: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerConstraint:
    """What a scheduler needs to start an image only on nodes that run it.

    Attributes:
        base: Base that the constraint holds for; of an environment with several, the one that most nodes run.
        slurm: Value of `--constraint`, for features `ccMAJORMINOR` and `driverRELEASE`; empty if no node runs it, or
            every node may.
        exclude: Value of Slurm's `--exclude`: the nodes with facts that do not run it on this base.
        kubernetes: Node selector terms on the labels of GPU feature discovery; empty if no node runs it.
        text: The same in a sentence.
    """

    image: str
    base: str
    slurm: str
    exclude: str
    kubernetes: tuple[dict[str, object], ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFeatureLine:
    """The features of nodes for `slurm.conf`, to which the constraints refer."""

    nodes: tuple[str, ...]
    features: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetReport:
    """A report about a fleet.

    Attributes:
        nodes: Names of all expected nodes, sorted.
        has_list: Whether the expected nodes are known; otherwise silent nodes cannot be noticed.
        groups: Groups of equal nodes, largest first.
        images: Verdicts for each image, in the order of the request.
        silent: Nodes that did not answer.
        unreadable: Nodes whose file contains no facts.
        findings: Worst first, then those of most nodes.
        updates: Driver updates; those that help most nodes first.
        drift: None if no earlier collection was named.
        constraints: One for each image; empty if they were not asked for.
        features: Features of the nodes for `slurm.conf`.
    """

    name: str
    nodes: tuple[str, ...]
    has_list: bool
    groups: tuple[NodeGroup, ...]
    images: tuple[ImageVerdicts, ...]
    silent: tuple[SilentNode, ...]
    unreadable: tuple[UnreadableNode, ...]
    findings: tuple[FleetFinding, ...]
    updates: tuple[DriverUpdate, ...]
    drift: Drift | None
    constraints: tuple[SchedulerConstraint, ...]
    features: tuple[NodeFeatureLine, ...]

    @property
    def judged(self) -> int:
        """Number of nodes with facts."""
        return sum(len(group.nodes) for group in self.groups)

    @property
    def not_proven(self) -> int:
        """Number of nodes without facts."""
        return len(self.silent) + len(self.unreadable)

    @property
    def passed(self) -> bool:
        """True if every expected node has facts, and every image runs on every node."""
        return not self.not_proven and all(each.runs for image in self.images for each in image.groups)

    @property
    def headline(self) -> str:
        """The result in one line."""
        if not self.judged:
            return "NOTHING PROVEN: no node has facts"
        running = sum(all(image.groups[number].runs for image in self.images) * len(group.nodes)
                      for number, group in enumerate(self.groups))  # fmt: skip
        what = "every image" if len(self.images) > 1 else self.images[0].image.name
        word = "PASSED" if self.passed else "FAILED"
        unproven = f", {self.not_proven} not proven" if self.not_proven else ""
        return f"{word}: {running} of {len(self.nodes)} nodes run {what}{unproven}"

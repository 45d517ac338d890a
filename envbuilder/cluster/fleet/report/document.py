"""A report about a fleet as JSON for programs; field names and their meaning are constant within a schema."""

from __future__ import annotations

import json
from typing import Any, Literal, TypedDict

from envbuilder.catalog.verdicts import Fit, why
from envbuilder.cluster.fleet.fleet_report import DriverUpdate, FleetFinding, FleetReport, GroupVerdict, ImageVerdicts
from envbuilder.cluster.fleet.node_groups import NodeGroup
from envbuilder.core.conversion.json_schema import json_schema
from envbuilder.core.structure import document_of
from envbuilder.diagnostics.findings import Severity


class Gpu(TypedDict):
    """A GPU; null for what is unknown of it."""

    name: str
    capability: str | None
    memory: int | None


class Group(TypedDict):
    """Equal nodes; null for what is unknown of them."""

    id: str
    description: str
    nodes: list[str]
    driver: str | None
    gpus: list[Gpu] | None
    machine: str | None
    avx: bool | None


class Verdict(TypedDict):
    """The verdict for an image on a group; `runs` means on the GPU if the image was built for GPUs."""

    group: str
    base: str
    fit: Fit
    runs: bool
    reasons: list[str]
    changes: list[str]


class Image(TypedDict):
    """An image; `running` is the number of nodes that run it."""

    name: str
    environment: str
    lock: bool
    running: int
    groups: list[Verdict]


class Silent(TypedDict):
    """A node that did not answer."""

    node: str
    why: str


class Fault(TypedDict):
    """A problem in a file; `line` counts from 1, and is 0 for the whole file."""

    file: str
    line: int
    field: str
    problem: str


class Unreadable(TypedDict):
    """A node whose file contains no facts."""

    node: str
    faults: list[Fault]


class Remedy(TypedDict):
    """One way to fix a finding."""

    text: str
    command: str


class Finding(TypedDict):
    """A finding; `seen` is that of the first node, `differs` says whether the text differs on other nodes."""

    id: str
    severity: Severity
    seen: str
    differs: bool
    effect: str
    remedies: list[Remedy]
    nodes: list[str]


class Effect(TypedDict):
    """The nodes on which an update changes whether an image runs."""

    image: str
    nodes: list[str]


Update = TypedDict(
    "Update",
    {"driver": str, "from": list[str], "nodes": list[str], "gains": list[Effect], "losses": list[Effect]},
)
Update.__doc__ = "An update of the driver; `driver` is the oldest one with this effect."


class Change(TypedDict):
    """A difference from the earlier collection; null for an unknown value."""

    topic: str
    before: str | None
    now: str | None
    nodes: list[str]


class Drift(TypedDict):
    """The differences from an earlier collection."""

    since: str
    changes: list[Change]
    new: list[str]
    lost: list[str]
    same: int


class Constraint(TypedDict):
    """What a scheduler needs; `kubernetes` has node selector terms on labels of GPU feature discovery."""

    image: str
    base: str
    slurm: str | None
    exclude: str | None
    kubernetes: list[dict[str, object]]
    text: str


class Features(TypedDict):
    """Features of nodes for slurm.conf, to which the constraints refer."""

    nodes: list[str]
    features: list[str]


class FleetDocument(TypedDict):
    """Fields may be added within schema 1; none is removed or changes its meaning. Lists of names are sorted.

    Attributes:
        fleet: Directory of the facts.
        passed: Whether every expected node has facts and runs every image: the exit status is 0.
        nodes: All expected nodes.
        has_list: Whether the expected nodes are known; otherwise silent nodes cannot be noticed.
        groups: Largest first.
        findings: Worst first, then those of most nodes.
        updates: Those that help most nodes first.
    """

    schema: Literal[1]
    fleet: str
    passed: bool
    headline: str
    nodes: list[str]
    has_list: bool
    groups: list[Group]
    images: list[Image]
    silent: list[Silent]
    unreadable: list[Unreadable]
    findings: list[Finding]
    updates: list[Update]
    drift: Drift | None
    constraints: list[Constraint]
    features: list[Features]


def fleet_json(report: FleetReport) -> str:
    """Return the report as indented JSON."""
    return json.dumps(fleet_document(report), indent=2, ensure_ascii=False) + "\n"


def fleet_document(report: FleetReport) -> dict[str, object]:
    """Return the report as a JSON document; lists of names are sorted."""
    return document_of(
        FleetDocument,
        report,
        fleet=report.name,
        groups=[_group(group) for group in report.groups],
        images=[_image(image) for image in report.images],
        findings=[_finding(each) for each in report.findings],
        updates=[_update(each) for each in report.updates],
    )


def fleet_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the output of `fleet_json`."""
    return json_schema(FleetDocument, "fleet") | {"title": "Report of envbuilder fleet check"}


def _group(group: NodeGroup) -> dict[str, Any]:
    return document_of(Group, group.host, id=group.id, description=group.description, nodes=group.nodes)


def _image(each: ImageVerdicts) -> dict[str, Any]:
    image = each.image
    verdicts = [_verdict(group) for group in each.groups]
    return document_of(Image, each, name=image.name, environment=image.environment, lock=image.is_lock, groups=verdicts)


def _verdict(each: GroupVerdict) -> dict[str, Any]:
    verdict = each.compatibility
    return document_of(Verdict, verdict, group=each.group.id, runs=each.runs, reasons=why(verdict))


def _finding(each: FleetFinding) -> dict[str, Any]:
    return document_of(Finding, each.finding, seen=each.finding.message, differs=each.others, nodes=each.nodes)


def _update(update: DriverUpdate) -> dict[str, Any]:
    return document_of(Update, update, driver=update.to, **{"from": update.drivers})

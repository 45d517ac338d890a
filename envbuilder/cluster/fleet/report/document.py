"""A report about a fleet as JSON for programs; field names and their meaning are constant within a schema."""

from __future__ import annotations

import json
from importlib import resources

from envbuilder.catalog.verdicts import why
from envbuilder.cluster.fleet.fleet_report import (
    Drift,
    DriverUpdate,
    FleetFinding,
    FleetReport,
    GroupVerdict,
    ImageEffect,
    ImageVerdicts,
)
from envbuilder.cluster.fleet.node_groups import NodeGroup

FLEET_SCHEMA = 1


def fleet_json(report: FleetReport) -> str:
    """Return the report as indented JSON."""
    return json.dumps(fleet_document(report), indent=2, ensure_ascii=False) + "\n"


def fleet_document(report: FleetReport) -> dict[str, object]:
    """Return the report as a JSON document; lists of names are sorted."""
    return {
        "schema": FLEET_SCHEMA,
        "fleet": report.name,
        "passed": report.passed,
        "headline": report.headline,
        "nodes": list(report.nodes),
        "has_list": report.has_list,
        "groups": [_group(group) for group in report.groups],
        "images": [_image(image) for image in report.images],
        "silent": [{"node": each.node, "why": each.why} for each in report.silent],
        "unreadable": [
            {
                "node": each.node,
                "faults": [
                    {"file": fault.file, "line": fault.line, "field": fault.field, "problem": fault.problem}
                    for fault in each.faults
                ],
            }
            for each in report.unreadable
        ],
        "findings": [_finding(each) for each in report.findings],
        "updates": [_update(each) for each in report.updates],
        "drift": _drift(report.drift) if report.drift else None,
        "constraints": [
            {
                "image": each.image,
                "base": each.base,
                "slurm": each.slurm or None,
                "exclude": each.exclude or None,
                "kubernetes": list(each.kubernetes),
                "text": each.text,
            }
            for each in report.constraints
        ],
        "features": [{"nodes": list(each.nodes), "features": list(each.features)} for each in report.features],
    }


def fleet_schema() -> str:
    """Return the JSON Schema (draft 2020-12) of the output of `fleet_json`, as in the file `fleet.schema.json`."""
    return resources.files("envbuilder.cluster.fleet.report").joinpath("fleet.schema.json").read_text(encoding="utf-8")


def _group(group: NodeGroup) -> dict[str, object]:
    host = group.host
    return {
        "id": group.id,
        "description": group.description,
        "nodes": list(group.nodes),
        "driver": _text(host.driver),
        "gpus": None
        if host.gpus is None
        else [{"name": gpu.name, "capability": _text(gpu.capability), "memory": gpu.memory} for gpu in host.gpus],
        "machine": host.machine,
        "avx": host.avx,
    }


def _image(image: ImageVerdicts) -> dict[str, object]:
    return {
        "name": image.image.name,
        "environment": image.image.environment,
        "lock": image.image.is_lock,
        "running": image.running,
        "groups": [_verdict(each) for each in image.groups],
    }


def _verdict(each: GroupVerdict) -> dict[str, object]:
    verdict = each.compatibility
    return {
        "group": each.group.id,
        "base": verdict.base,
        "fit": verdict.fit.value,
        "runs": each.runs,
        "reasons": list(why(verdict)),
        "changes": list(verdict.changes),
    }


def _finding(each: FleetFinding) -> dict[str, object]:
    finding = each.finding
    return {
        "id": finding.id,
        "severity": finding.severity.value,
        "seen": finding.message,
        "differs": each.others,
        "effect": finding.effect,
        "remedies": [{"text": remedy.text, "command": remedy.command} for remedy in finding.remedies],
        "nodes": list(each.nodes),
    }


def _update(update: DriverUpdate) -> dict[str, object]:
    return {
        "driver": str(update.to),
        "from": [str(driver) for driver in update.drivers],
        "nodes": list(update.nodes),
        "gains": [_effect(effect) for effect in update.gains],
        "losses": [_effect(effect) for effect in update.losses],
    }


def _effect(effect: ImageEffect) -> dict[str, object]:
    return {"image": effect.image, "nodes": list(effect.nodes)}


def _drift(drift: Drift) -> dict[str, object]:
    return {
        "since": drift.since,
        "changes": [
            {"topic": each.topic, "before": each.before or None, "now": each.now or None, "nodes": list(each.nodes)}
            for each in drift.changes
        ],
        "new": list(drift.new),
        "lost": list(drift.lost),
        "same": drift.same,
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)

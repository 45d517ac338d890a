"""Output of `doctor --json`."""

from __future__ import annotations

from envbuilder.catalog.machine import Host
from envbuilder.cli.output.compatibility import offer_document
from envbuilder.cli.output.doctor_versions import versions_document
from envbuilder.core.structure import dump
from envbuilder.diagnostics.doctor import HostProbe
from envbuilder.diagnostics.facts.machine import host_of
from envbuilder.diagnostics.findings import Finding
from envbuilder.diagnostics.host.examination import Examination


def doctor_document(looked: HostProbe, examination: Examination) -> dict[str, object]:
    """Return the whole examination as JSON."""
    around = looked.host_environment
    return {
        "schema": 1,
        "origin": looked.facts.origin,
        "problems": examination.has_problems,
        "findings": [_finding(each) for each in examination.findings],
        "unseen": [{"what": each.what, "why": each.why, "how": each.how} for each in examination.unseen],
        "host": _host(host_of(looked.facts)),
        "surroundings": dump(around) if around else None,
        "versions": versions_document(examination.versions) if examination.versions else None,
        "environments": [offer_document(each) for each in examination.environments],
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "id": finding.id,
        "severity": finding.severity.value,
        "seen": finding.message,
        "effect": finding.effect,
        "remedies": [{"text": each.text, "command": each.command} for each in finding.remedies],
    }


def _host(host: Host) -> dict[str, object]:
    return {
        "driver": _text(host.driver),
        "cuda": _text(host.cuda),
        "gpus": None
        if host.gpus is None
        else [
            {"name": gpu.name, "capability": _text(gpu.capability), "memory": gpu.memory, "free": gpu.free}
            for gpu in host.gpus
        ],
        "machine": host.machine,
        "glibc": _text(host.glibc),
        "avx": host.avx,
        "fma": host.fma,
        "memory": host.memory,
        "shm": host.shm,
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)

"""The documents of envbuilder by name, and their JSON Schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from operator import or_
from typing import Any, Final

from envbuilder.cli.documents import advice, environments, gpus, images, locks, machines, maintenance, projects
from envbuilder.cluster.fleet.report.document import fleet_schema
from envbuilder.core.conversion.json_schema import json_schema
from envbuilder.diagnostics.facts.facts import FACTS_SCHEMA, Facts
from envbuilder.diagnostics.report.document import report_schema
from envbuilder.lock.lockfile import LockDocument
from envbuilder.lock.prioritized_files import PrioritizedDocument
from envbuilder.lock.spec import SpecDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentKind:
    """A kind of document."""

    title: str
    schema: Callable[[], dict[str, Any]]


def _reports() -> dict[str, Any]:
    """Return the schema of `validate --json`: one report, or several together."""
    report = report_schema()
    several = {
        "type": "object",
        "description": "The reports on several files of facts, or on several images with --on.",
        "required": ["schema", "passed", "reports"],
        "properties": {
            "schema": {"const": 1},
            "passed": {"type": "boolean"},
            "reports": {"type": "array", "items": {"$ref": report["$ref"]}},
            "missing": {"type": "array"},
        },
    }
    return {
        "$schema": report["$schema"],
        "$id": "urn:envbuilder:validate:1",
        "title": report["title"],
        "anyOf": [{"$ref": report["$ref"]}, several],
        "$defs": report["$defs"],
    }


def _facts() -> dict[str, Any]:
    """Return the schema of the output of the probe; unknown fields are allowed."""
    found = json_schema(Facts, "facts", closed=False)
    facts = found["$defs"]["Facts"]
    # They stand beside the facts.
    outside = {name: facts["properties"].pop(name) for name in ("origin", "seconds")}
    facts["required"] = [name for name in facts["required"] if name not in outside]
    del found["$ref"]
    return found | {
        "type": "object",
        "required": ["schema", "seconds", "facts"],
        "properties": {
            "schema": {"const": FACTS_SCHEMA},
            "seconds": outside["seconds"],
            "request": {"type": "object", "description": "What the probe was asked to do."},
            "facts": {"$ref": "#/$defs/Facts"},
        },
    }


def _of(title: str, name: str, *kinds: Any) -> tuple[str, DocumentKind]:  # noqa: ANN401  dataclasses and TypedDicts
    hint = reduce(or_, kinds)
    return name, DocumentKind(title=title, schema=partial(json_schema, hint, name.replace(" ", "-")))


DOCUMENTS: Final[Mapping[str, DocumentKind]] = dict(
    (
        _of("envbuilder.yaml, after its YAML was parsed", "spec", SpecDocument),
        _of("envbuilder.lock, after its YAML was parsed", "lock-file", LockDocument),
        _of("List of run --record-reads, after its YAML was parsed", "prioritized-files", PrioritizedDocument),
        ("facts", DocumentKind(title="Output of the probe", schema=_facts)),
        _of("An error, in place of the document of a command", "error", machines.FailureDocument),
        _of(
            "Environments; with --gpus their GPUs, with --fits verdicts",
            "list",
            environments.EnvironmentList,
            gpus.GpuTable,
            gpus.FitList,
        ),
        _of(
            "One environment, the image of a lock, or the values of a spec",
            "show",
            environments.ShownEnvironment,
            locks.ShownLock,
            locks.ShownSpec,
        ),
        _of("Recommended environments", "advise", advice.Recommendation),
        _of("The spec for an existing project", "adopt", projects.Adoption),
        _of(
            "The lock that was written, or whether it is out of date", "lock", projects.LockDocument, projects.LockCheck
        ),
        _of("Differences of two locks", "diff", projects.LockDifferences),
        _of("Layers of an image", "plan", projects.PlanDocument),
        _of("A build context", "render", projects.Rendered),
        _of("Images that were built", "build", images.BuildDocument),
        ("validate", DocumentKind(title="Report about an image, or several", schema=_reports)),
        _of("Signatures of an image", "sign", images.SignDocument),
        _of("An image compared with its lock", "verify", images.Verification),
        _of("Builds of one lock, compared", "reproduce", images.Reproduction),
        _of("Known vulnerabilities", "scan", images.ScanDocument),
        _of("Files of locks in a directory", "fetch", images.FetchDocument),
        _of("An archive with a lock and its files", "bundle", images.BundleDocument),
        _of("Files of locks in a registry", "mirror", images.MirrorDocument),
        _of("Files for a cluster, and the nodes that they are for", "cluster", machines.ClusterDocument),
        ("fleet check", DocumentKind(title="All nodes of a cluster, judged together", schema=fleet_schema)),
        ("multi-node", DocumentKind(title="Report about several workers", schema=_reports)),
        _of("Findings about a machine", "doctor", machines.DoctorDocument),
        _of("Causes of a failure", "diagnose", machines.DiagnoseDocument),
        _of("Differences of two machines, locks or images", "compare", machines.CompareDocument),
        _of("Settings of a user, and their origins", "config show", maintenance.ConfigShow),
        _of("What the cache directory holds", "cache list", maintenance.CacheList),
        _of("What was freed", "cache prune", maintenance.CachePrune),
        _of("Damaged files of the cache directory", "cache verify", maintenance.CacheVerify),
        _of("A base that was made", "base bootstrap", maintenance.BaseBootstrap),
        _of("Bases of the catalog", "base list", maintenance.BaseList),
        _of("An interpreter archive that was made", "python pack", maintenance.PythonPack),
        _of("Interpreter archives", "python list", maintenance.PythonList),
        _of("Measurements of wheels", "catalog audit", maintenance.AuditDocument),
        _of(
            "Proofs of environments or archives", "catalog prove", maintenance.ProveDocument, maintenance.ProveArchives
        ),
        _of("Files that the index still has", "catalog availability", maintenance.AvailabilityDocument),
    )
)
"""Documents of files by kind, and of `--json` by the words of the command; a group stands for all its commands."""

"""Output of `doctor --json`."""

from __future__ import annotations

from typing import Any

from envbuilder.cli.documents import machines as documents
from envbuilder.cli.output.compatibility import offer_document
from envbuilder.core.structure import document_of, dump
from envbuilder.diagnostics.doctor import HostProbe
from envbuilder.diagnostics.facts.machine import host_of
from envbuilder.diagnostics.host.examination import Examination, Versions


def doctor_document(looked: HostProbe, examination: Examination) -> dict[str, Any]:
    """Return the whole examination as JSON."""
    around = looked.host_environment
    return document_of(
        documents.DoctorDocument,
        examination,
        origin=looked.facts.origin,
        problems=examination.has_problems,
        findings=[document_of(documents.Finding, each, seen=each.message) for each in examination.findings],
        host=host_of(looked.facts),
        surroundings=around and dump(around),
        versions=examination.versions and _versions(examination.versions),
        environments=map(offer_document, examination.environments),
    )


def _versions(versions: Versions) -> dict[str, Any]:
    nearest = versions.nearest
    return document_of(
        documents.InstalledVersions,
        versions,
        tf_keras=versions.builtin_keras,
        nearest=nearest and document_of(documents.NearestEnvironment, nearest, same_release=nearest.is_same_release),
    )

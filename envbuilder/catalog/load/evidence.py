"""Decoder and encoder of `evidence/ID.yaml`.

`envbuilder catalog prove` and `envbuilder catalog audit --write` write these files; maintainers add documented
evidence by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from envbuilder.catalog.evidence import (
    BuiltImage,
    Documented,
    Evidence,
    Grade,
    Measured,
    RanOnCpu,
    RanOnGpu,
    Resolved,
    Unproven,
)
from envbuilder.core.digests import sha256_digest
from envbuilder.core.yaml.canonical import Plain, dump
from envbuilder.core.yaml.fields import Fields
from envbuilder.core.yaml.requirements import sha256

PROOF_SCHEMA = 1
_HEADER = (
    "# How this row is known to work. Written by `envbuilder catalog prove` and `envbuilder catalog audit --write`.\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """All evidence of one row.

    Attributes:
        evidence: Weakest first, then in file order.
        unproven: Proofs that were tried without success, weakest first.
    """

    evidence: tuple[Evidence, ...] = ()
    unproven: tuple[Unproven, ...] = ()


def read_proof(root: Fields) -> Proof:
    """Decode one file under `evidence/`; record its faults."""
    evidence = [_entry(each) for each in root.children("evidence", required=True)]
    unproven = [
        Unproven(grade=each.choice("grade", Grade), why=each.text("why"), when=each.day("when"))
        for each in root.children("unproven")
    ]
    return Proof(
        evidence=tuple(sorted(evidence, key=lambda entry: entry.grade.rank)),
        unproven=tuple(sorted(unproven, key=lambda entry: entry.grade.rank)),
    )


def dump_proof(row: str, proof: Proof) -> str:
    """Return the canonical text of `evidence/ID.yaml`."""
    document: dict[str, Plain] = {
        "schema": PROOF_SCHEMA,
        "id": row,
        "evidence": [_plain(entry) for entry in proof.evidence],
    }
    if proof.unproven:
        document["unproven"] = [
            {"grade": entry.grade.value, "why": entry.why, "when": entry.when.isoformat()} for entry in proof.unproven
        ]
    return _HEADER + dump(document)


def _entry(fields: Fields) -> Evidence:
    grade = fields.choice("grade", Grade)
    when = fields.day("when")
    match grade:
        case Grade.DOCUMENTED:
            return Documented(where=fields.text("where"), when=when)
        case Grade.MEASURED:
            return Measured(file=fields.text("file"), sha256=fields.value("sha256", sha256, fallback=""), when=when)
        case Grade.RESOLVED:
            bases = fields.texts("bases", str, required=True)
            return Resolved(bases=bases, python=fields.text("python"), closure=_digest(fields, "closure"), when=when)
        case Grade.CPU:
            return RanOnCpu(
                python=fields.text("python"),
                glibc=fields.text("glibc"),
                closure=_digest(fields, "closure"),
                when=when,
                report=fields.text("report"),
            )
        case Grade.IMAGE:
            return BuiltImage(
                base=fields.text("base"),
                python=fields.text("python"),
                closure=_digest(fields, "closure"),
                lock=_digest(fields, "lock"),
                when=when,
                report=fields.text("report"),
            )
        case Grade.GPU:
            return RanOnGpu(
                base=fields.text("base"),
                gpu=fields.text("gpu"),
                driver=fields.text("driver"),
                closure=_digest(fields, "closure"),
                lock=_digest(fields, "lock"),
                when=when,
                report=fields.text("report"),
            )
    assert_never(grade)


def _digest(fields: Fields, name: str) -> str:
    return fields.value(name, sha256_digest, fallback="")


def _plain(entry: Evidence) -> dict[str, Plain]:
    common: dict[str, Plain] = {"grade": entry.grade.value}
    return common | _own_fields(entry) | {"when": entry.when.isoformat()}


def _own_fields(entry: Evidence) -> dict[str, Plain]:
    match entry:
        case Documented():
            return {"where": entry.where}
        case Measured():
            return {"file": entry.file, "sha256": entry.sha256}
        case Resolved():
            return {"bases": list(entry.bases), "python": entry.python, "closure": entry.closure}
        case RanOnCpu():
            return {
                "python": entry.python,
                "glibc": entry.glibc,
                "closure": entry.closure,
                "report": entry.report,
            }
        case BuiltImage():
            return {
                "base": entry.base,
                "python": entry.python,
                "closure": entry.closure,
                "lock": entry.lock,
                "report": entry.report,
            }
        case RanOnGpu():
            return {
                "base": entry.base,
                "gpu": entry.gpu,
                "driver": entry.driver,
                "closure": entry.closure,
                "lock": entry.lock,
                "report": entry.report,
            }
    assert_never(entry)

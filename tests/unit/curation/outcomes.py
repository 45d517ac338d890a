"""What tests ask of a row that was to be proven."""

from __future__ import annotations

from envbuilder.catalog.environments import Environment
from envbuilder.catalog.evidence import Grade, RanOnCpu, Resolved
from envbuilder.curation.prove import Proven


def grades(outcome: Proven) -> list[Grade]:
    return [entry.grade for entry in outcome.row.evidence]


def reasons(row: Environment) -> list[tuple[Grade, str]]:
    return [(entry.grade, entry.why) for entry in row.unproven]


def ran_on_cpu(row: Environment) -> RanOnCpu:
    [found] = [entry for entry in row.evidence if isinstance(entry, RanOnCpu)]
    return found


def resolved(row: Environment) -> tuple[Resolved, ...]:
    return tuple(entry for entry in row.evidence if isinstance(entry, Resolved))

"""A report about a fleet as Markdown for pull requests and issue threads (GitHub and GitLab flavours)."""

from __future__ import annotations

from collections.abc import Sequence

from envbuilder.catalog.verdicts import WORDS
from envbuilder.cluster.fleet.fleet_report import Drift, FleetReport
from envbuilder.cluster.fleet.report.wording import (
    NO_LIST,
    changed_value,
    finding_place,
    misfits,
    shortened,
    tally,
    unproven_reasons,
    update_effects,
    update_title,
    verdict_words,
)
from envbuilder.diagnostics.report.markdown_text import folded, inline_code, plain_text, table


def fleet_markdown(report: FleetReport) -> str:
    """Return the report; foreign text cannot leave its cell, mention a user or open a tag."""
    blocks: list[Sequence[str]] = [
        [f"## {'✅' if report.passed else '❌'} {plain_text(report.headline)}"],
        [
            f"{inline_code(report.name)} · {tally(report)}",
            *([f"\n{plain_text(NO_LIST)}"] if not report.has_list else []),
        ],
        _section("Groups of equal nodes", _groups(report)),
        _section("Where each image runs", _matrix(report)),
        _section("Where it does not run", _misfits(report)),
        _section("What to change", _updates(report)),
        _section("Not proven", _unproven(report)),
        _section("Findings", _findings(report)),
        _section("Drift", _drift(report.drift)),
        _section("Constraints for schedulers", _constraints(report)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _section(title: str, lines: Sequence[str]) -> Sequence[str]:
    return [f"### {title}", "", *lines] if lines else []


def _groups(report: FleetReport) -> Sequence[str]:
    rows = [
        (group.id, str(len(group.nodes)), plain_text(group.description), inline_code(shortened(group.nodes)))
        for group in report.groups
    ]
    return table(("Group", "Nodes", "Machine", "Names"), rows)


def _matrix(report: FleetReport) -> Sequence[str]:
    rows = [
        (inline_code(image.image.name), str(image.running), *(WORDS[each.compatibility.fit] for each in image.groups))
        for image in report.images
    ]
    return table(("Image", "Nodes", *(group.id for group in report.groups)), rows)


def _misfits(report: FleetReport) -> Sequence[str]:
    rows = [
        (
            inline_code(image.image.name),
            " ".join(group.id for group in misfit.groups),
            str(misfit.count),
            verdict_words(misfit.fit),
            plain_text("; ".join(misfit.reasons)),
        )
        for image in report.images
        for misfit in misfits(image)
    ]
    return table(("Image", "Groups", "Nodes", "Verdict", "Reason"), rows)


def _updates(report: FleetReport) -> Sequence[str]:
    lines = []
    for update in report.updates:
        lines.append(f"- {plain_text(update_title(update))}: {inline_code(shortened(update.nodes))}")
        lines.extend(f"  - {plain_text(effect)}" for effect in update_effects(update))
    return lines


def _unproven(report: FleetReport) -> Sequence[str]:
    rows = [
        (inline_code(shortened(each.nodes)), str(len(each.nodes)), each.kind, plain_text(each.why))
        for each in unproven_reasons(report)
    ]
    return table(("Nodes", "Number", "", "Reason"), rows)


def _findings(report: FleetReport) -> Sequence[str]:
    rows = [
        (
            each.finding.severity.value,
            inline_code(each.finding.id),
            plain_text(each.finding.message),
            finding_place(each),
            plain_text(each.finding.remedy),
        )
        for each in report.findings
    ]
    return table(("Severity", "Finding", "Seen", "Where", "Remedy"), rows)


def _drift(drift: Drift | None) -> Sequence[str]:
    if drift is None:
        return []
    rows = [
        (plain_text(each.topic), plain_text(changed_value(each.before, each.now)), str(len(each.nodes)),
         inline_code(shortened(each.nodes)))
        for each in drift.changes
    ]  # fmt: skip
    lists = [
        f"- {word}: {inline_code(shortened(names))}"
        for word, names in (("new", drift.new), ("without facts now", drift.lost))
        if names
    ]
    summary = f"Since {inline_code(drift.since)}: {drift.same} nodes without a difference."
    return [
        summary,
        *(["", *lists] if lists else []),
        *(["", *table(("What", "Change", "Nodes", "Names"), rows)] if rows else []),
    ]


def _constraints(report: FleetReport) -> Sequence[str]:
    rows = [
        (inline_code(each.image), inline_code(each.slurm) if each.slurm else "", plain_text(each.text))
        for each in report.constraints
    ]
    return folded("Slurm's --constraint, and the nodes in words", table(("Image", "Slurm", "Nodes"), rows))

"""A report about a fleet as one HTML page, in the style of the reports of images."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from importlib import resources

from envbuilder.catalog.verdicts import WORDS, Fit
from envbuilder.cluster.fleet.fleet_report import Drift, FleetReport, ImageVerdicts, SchedulerConstraint
from envbuilder.cluster.fleet.report.wording import (
    NO_LIST,
    changed_value,
    misfits,
    node_count,
    shortened,
    tally,
    unproven_reasons,
    update_effects,
    update_title,
)
from envbuilder.diagnostics.report.html_figures import plain, text
from envbuilder.diagnostics.report.html_page import html_page

_FOOTER = "Written by envbuilder. Not proven means that nothing is known of a node; it never counts as one that runs."
_NO_SHARE = '<td class="share"></td>'


def fleet_page(report: FleetReport) -> str:
    """Return the report as one page."""
    style = resources.files("envbuilder.cluster.fleet.report").joinpath("fleet.css").read_text(encoding="utf-8")
    body = (
        *_header(report),
        "<main>",
        *_section("Where each image runs", _matrix(report)),
        *_section("What to change", _updates(report), len(report.updates)),
        *_section("Not proven", _unproven(report), report.not_proven),
        *_section("Where an image does not run", _misfits(report)),
        *_section("Groups of equal nodes", _groups(report), len(report.groups)),
        *_section("Findings", _findings(report), len(report.findings)),
        *_section("Changes since the last collection", _drift(report.drift) if report.drift else []),
        *_section("Constraints for schedulers", _constraints(report)),
        "</main>",
        f"<footer><p>{_FOOTER}</p></footer>",
    )
    return html_page(f"{report.headline}: {report.name}", body, style)


def _section(heading: str, lines: Iterable[str], count: int = 0) -> Iterator[str]:
    found = list(lines)
    if found:
        number = f' <span class="count">{count}</span>' if count else ""
        yield f"<h2>{plain(heading)}{number}</h2>"
        yield from found


def _header(report: FleetReport) -> Iterator[str]:
    yield "<header>"
    yield f'<p class="kind">Fleet of {node_count(len(report.nodes))}</p>'
    yield f"<h1>{plain(report.name)}</h1>"
    yield f'<div class="card verdict {"passed" if report.passed else "failed" if report.judged else "not-proven"}">'
    yield f"<b>{plain(report.headline)}</b>"
    yield f'<p>{plain(tally(report))}<span class="soft"> · {node_count(len(report.groups)).replace("node", "group")}'
    yield f" · {len(report.images)} image{'' if len(report.images) == 1 else 's'}</span></p>"
    if not report.has_list:
        yield f'<p class="text">{text(NO_LIST)}</p>'
    yield "</div>"
    yield "</header>"


def _matrix(report: FleetReport) -> Iterator[str]:
    heads = "".join(f'<th scope="col" title="{plain(each.description)}">{each.id}</th>' for each in report.groups)
    sizes = "".join(f'<td class="soft">{len(each.nodes)}</td>' for each in report.groups)
    yield '<div class="card scroll">'
    yield "<table>"
    yield f'<thead><tr><th scope="col">Image</th><th scope="col">Runs on</th>{_NO_SHARE}{heads}</tr></thead>'
    yield f'<tbody><tr><td class="soft">nodes</td><td class="soft">of {len(report.nodes)}</td>{_NO_SHARE}{sizes}</tr>'
    for image in report.images:
        cells = "".join(
            f"<td>{_fit(each.compatibility.fit, _tone(image, each.compatibility.fit))}</td>" for each in image.groups
        )
        yield f'<tr><td><code>{plain(image.image.name)}</code></td><td class="number">{image.running}</td>'
        yield f'<td class="share">{_share(image, len(report.nodes))}</td>{cells}</tr>'
    yield "</tbody></table>"
    yield f'<p class="legend">{"".join(_fit(fit) for fit in Fit)}</p>'
    yield "</div>"


def _fit(fit: Fit, tone: Fit | None = None) -> str:
    return f'<span class="fit {(tone or fit).value}">{WORDS[fit]}</span>'


def _tone(image: ImageVerdicts, fit: Fit) -> Fit:
    """Return the verdict whose colour stands for another: a CPU environment on a processor is as it should be."""
    return Fit.FITS if image.image.runs(fit) and fit is Fit.CPU_ONLY else fit


def _share(image: ImageVerdicts, total: int) -> str:
    """Return the verdicts of an image as one bar over all nodes; nodes without facts stay empty."""
    pieces, start = [], 0.0
    for fit in Fit:
        share = 100 * image.count(fit) / total
        if share:
            pieces.append(
                f'<rect class="piece {_tone(image, fit).value}" x="{start:.2f}%" width="{share:.2f}%" height="10"/>'
            )
        start += share
    words = ", ".join(f"{count} {WORDS[fit]}" for fit in Fit if (count := image.count(fit)))
    label = plain(f"{image.image.name}: {words or 'no node'}")
    return (
        f'<svg width="100%" height="10" role="img" aria-label="{label}">'
        f'<rect class="track" width="100%" height="10"/>{"".join(pieces)}</svg>'
    )


def _updates(report: FleetReport) -> Iterator[str]:
    for update in report.updates:
        effects = "".join(f"<li>{text(effect)}</li>" for effect in update_effects(update))
        yield '<article class="card passed">'
        yield f"<h3>{text(update_title(update))}</h3>"
        yield f"<ul>{effects}</ul>"
        yield f'<p class="names">{plain(shortened(update.nodes))}</p>'
        yield "</article>"


def _unproven(report: FleetReport) -> Iterator[str]:
    reasons = unproven_reasons(report)
    if reasons:
        yield '<div class="card rows">'
        for each in reasons:
            yield '<div class="row not-proven">'
            yield f'<p class="text"><code>{plain(shortened(each.nodes))}</code> {each.kind}</p>'
            yield f'<p class="names">{text(each.why)}</p>'
            yield "</div>"
        yield "</div>"


def _misfits(report: FleetReport) -> Iterator[str]:
    for image in report.images:
        found = misfits(image)
        if found:
            yield '<article class="card">'
            yield f'<h3 class="verbatim"><code>{plain(image.image.name)}</code></h3>'
        for misfit in found:
            ids = ", ".join(group.id for group in misfit.groups)
            reasons = "; ".join(misfit.reasons)
            yield f'<p class="text">{_fit(misfit.fit)} {ids} ({node_count(misfit.count)}): {text(reasons)}</p>'
        if found:
            yield "</article>"


def _groups(report: FleetReport) -> Iterator[str]:
    if report.groups:
        yield '<div class="card long groups">'
        yield "<table><tbody>"
        for group in report.groups:
            yield f"<tr><td><b>{group.id}</b></td><td>{text(group.description)}"
            yield f'<p class="names">{plain(shortened(group.nodes))}</p></td>'
            yield f'<td class="number">{node_count(len(group.nodes))}</td></tr>'
        yield "</tbody></table>"
        yield "</div>"


def _findings(report: FleetReport) -> Iterator[str]:
    for each in report.findings:
        finding = each.finding
        yield f'<article class="card {finding.severity.value}">'
        yield f'<h3>{node_count(len(each.nodes))}<code class="id">{plain(finding.id)}</code></h3>'
        others = '<span class="soft"> (with other values on some)</span>' if each.others else ""
        yield f'<p class="text">{text(finding.message)}{others}</p>'
        if finding.effect:
            yield f'<p class="text soft">{text(finding.effect)}</p>'
        for remedy in finding.remedies[:1]:
            code = f"<pre>{plain_lines(remedy.command)}</pre>" if remedy.command else ""
            yield f'<div class="remedy text"><b>Remedy</b>{text(remedy.text)}{code}</div>'
        yield f'<p class="names">{plain(shortened(each.nodes))}</p>'
        yield "</article>"


def _drift(drift: Drift) -> Iterator[str]:
    yield f'<p class="soft">Since {plain(drift.since)}: {node_count(drift.same)} without a difference.</p>'
    for word, names in (("New", drift.new), ("Without facts now", drift.lost)):
        if names:
            listing = f'<span class="names">{plain(shortened(names))}</span>'
            yield f'<p class="text">{word}: {node_count(len(names))} {listing}</p>'
    if drift.changes:
        yield '<div class="card long"><table><tbody>'
        for each in drift.changes:
            yield f"<tr><td>{text(each.topic)}</td><td>{text(changed_value(each.before, each.now))}"
            yield f'<p class="names">{plain(shortened(each.nodes))}</p></td>'
            yield f'<td class="number">{node_count(len(each.nodes))}</td></tr>'
        yield "</tbody></table></div>"


def _constraints(report: FleetReport) -> Iterator[str]:
    for each in report.constraints:
        yield '<details class="card">'
        yield f"<summary><code>{plain(each.image)}</code></summary>"
        yield f'<p class="text">{text(each.text)}</p>'
        yield from _expressions(each)
        yield "</details>"
    if report.features:
        lines = "\n".join(
            f"NodeName={shortened(each.nodes)} Feature={','.join(each.features)}" for each in report.features
        )
        yield '<details class="card">'
        yield "<summary>Features that Slurm's constraints refer to (slurm.conf)</summary>"
        yield f"<pre>{plain_lines(lines)}</pre>"
        yield "</details>"


def _expressions(constraint: SchedulerConstraint) -> Iterator[str]:
    if constraint.slurm:
        yield "<p>Slurm, with features for driver and compute capability</p>"
        yield f"<pre>--constraint={plain(constraint.slurm)}</pre>"
    if constraint.exclude:
        yield f"<p>Slurm, with the names of this fleet</p><pre>--exclude={plain(constraint.exclude)}</pre>"
    if constraint.kubernetes:
        terms = "nodeSelectorTerms:\n" + "\n".join(f"- {json.dumps(term)}" for term in constraint.kubernetes)
        yield f"<p>Kubernetes, node affinity on the labels of GPU feature discovery</p><pre>{plain_lines(terms)}</pre>"


def plain_lines(value: str) -> str:
    """Return lines of text between tags."""
    return "\n".join(plain(line) for line in value.splitlines())

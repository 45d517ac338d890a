"""Output of `doctor` as text: findings first, then facts, missing facts, and environments that run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import click

from envbuilder.catalog.buildable import Buildability
from envbuilder.catalog.offers import Offer
from envbuilder.catalog.verdicts import Compatibility, Fit, why
from envbuilder.cli.output.buildable import buildable_notes
from envbuilder.cli.output.doctor_facts import gpu_lines, seen_lines
from envbuilder.cli.output.doctor_versions import installed_lines, python_line
from envbuilder.cli.output.printing import folded, heading, section, shell_lines
from envbuilder.cli.output.terminal import Meaning
from envbuilder.diagnostics.doctor import HostProbe
from envbuilder.diagnostics.findings import Finding, Severity
from envbuilder.diagnostics.host.examination import Examination
from envbuilder.diagnostics.host.machine_view import MachineView
from envbuilder.diagnostics.host.missing_facts import MissingFact

_PTX_VERSION = re.compile(r" \(version [^)]*\)")
_COLOURS = {Severity.PROBLEM: Meaning.BAD, Severity.WARNING: Meaning.DOUBTFUL, Severity.NOTE: Meaning.NEUTRAL}
_FEW, _MOST_NAMES = 2, 4
_FITS = {
    Fit.FITS: "run on the GPU",
    Fit.JIT: "run on the GPU with JIT: the first start takes minutes",
    Fit.UNKNOWN: "may run: something is not known",
    Fit.CPU_ONLY: "run on the processor only",
    Fit.NO: "do not run",
}


def doctor_text(
    looked: HostProbe, examination: Examination, width: int, *, is_one_python: bool = False
) -> Iterator[str]:
    """Yield all lines.

    Only commands may be longer than `width`. With `is_one_python`, the environment of one interpreter was examined, and
    not the machine.
    """
    yield _summary(looked, examination)
    for finding in examination.findings:
        yield ""
        yield from _finding(finding, width)
    view = MachineView(facts=looked.facts, host_environment=looked.host_environment)
    if examination.versions and (is_one_python or examination.versions.tensorflow):
        yield ""
        yield heading("Installed")
        yield from _pairs(installed_lines(examination, gpu_lines(view) if is_one_python else ()), width)
    if is_one_python:
        return
    yield from section("Seen", _pairs((*seen_lines(view), *python_line(examination.versions)), width))
    yield from section("Not seen", (line for each in examination.unseen for line in _unseen(each, width)))
    yield ""
    yield from _environments(examination.environments, width)


def _summary(looked: HostProbe, examination: Examination) -> str:
    counts = [(sum(each.severity is kind for each in examination.findings), kind) for kind in Severity]
    parts = [f"{count} {kind.value}{'' if count == 1 else 's'}" for count, kind in counts if count]
    return heading(f"{looked.facts.origin}: {', '.join(parts) or 'no problems found'}")


def _finding(finding: Finding, width: int) -> Iterator[str]:
    name = click.style(f"{finding.severity.value:<8}", fg=_COLOURS[finding.severity], bold=True)
    yield f"{name} {finding.id}"
    yield folded(f"  {finding.message}", width)
    if finding.effect:
        yield folded(f"  so: {finding.effect}", width)
    for remedy in finding.remedies:
        yield folded(f"  → {remedy.text}", width)
        for line in remedy.command.splitlines():
            yield from shell_lines(line, width, first="      ")


def _pairs(pairs: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    before = ""
    for label, text in pairs:
        head = "" if label == before else label
        lines = _value(text, width - 16) or ["not known"]
        indent = " " * (16 + len(text) - len(text.lstrip()))
        yield f"  {head:<13} {lines[0]}".rstrip()
        yield from (f"{indent}{line.strip()}" for line in lines[1:])
        before = label


def _value(text: str, columns: int) -> list[str]:
    """Return the lines of a value; a command can be copied from them."""
    is_command = text.lstrip().startswith("envbuilder ") and ", " not in text
    return list(shell_lines(text.lstrip(), columns)) if is_command else folded(text, columns).splitlines()


def _unseen(each: MissingFact, width: int) -> Iterator[str]:
    yield folded(f"  {each.what}: {each.why}", width)
    if each.how:
        yield f"      {each.how}"


def _environments(offers: tuple[Offer, ...], width: int) -> Iterator[str]:
    yield heading("Environments")
    rows = tuple(each.compatibility for each in offers)
    for fit in Fit:
        fitting = [row for row in rows if row.fit is fit]
        if fitting:
            what = f"{len(fitting)} {_FITS[fit]}" if len(fitting) > 1 else f"1 {_singular(_FITS[fit])}"
            yield folded(f"  {what}", width)
            yield from _groups(fitting, rows, width)
    bare: dict[str, list[str]] = {}
    for row in rows:
        if row.bare and row.fit is not Fit.NO:
            bare.setdefault(row.bare, []).append(row.environment)
    for reason, names in bare.items():
        yield folded(f"  only in a container, not in an environment on the host: {', '.join(names)}: {reason}", width)
    lacking = [each.buildable for each in offers if each.buildable.verdict is Buildability.NO]
    for line in buildable_notes(lacking):
        yield line and folded(line, width)


def _singular(text: str) -> str:
    """Return `run on the GPU` as `runs on the GPU`."""
    verb, _, rest = text.partition(" ")
    return {"run": "runs", "do": "does"}.get(verb, verb) + f" {rest}"


def _groups(fitting: list[Compatibility], rows: tuple[Compatibility, ...], width: int) -> Iterator[str]:
    """Yield rows with the same reasons together."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in fitting:
        groups.setdefault(_short(why(row)), []).append(row.environment)
    for reasons, names in groups.items():
        yield folded(f"    {_named(names, rows)}", width)
        for reason in reasons:
            yield folded(f"      {reason}", width)


def _short(reasons: tuple[str, ...]) -> tuple[str, ...]:
    """Return reasons without those for programs only, each once."""
    return tuple(dict.fromkeys(_PTX_VERSION.sub("", reason) for reason in reasons))


def _named(names: list[str], rows: tuple[Compatibility, ...]) -> str:
    """Return the names; many consecutive ones of CPU or GPU environments are abbreviated."""
    for suffix, kind in (("-cpu", "CPU"), ("", "GPU")):
        every = [each.environment for each in rows if each.environment.endswith("-cpu") == bool(suffix)]
        if names == every and len(names) > _FEW:
            return f"all {len(names)} {kind} environments, {names[0]} to {names[-1]}"
        start = every.index(names[0]) if names[0] in every else 0
        if len(names) > _MOST_NAMES and names == every[start : start + len(names)]:
            return f"{len(names)} {kind} environments, {names[0]} to {names[-1]}"
    return ", ".join(names)

"""A diagnosis as text and as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from envbuilder.cli.output.printing import heading, paragraph, shell_lines, width
from envbuilder.cli.output.terminal import Meaning
from envbuilder.diagnostics.logs.diagnosis import Cause, Diagnosis
from envbuilder.diagnostics.logs.evidence import ExtractedFacts

_SURE = ((0.9, "almost certain"), (0.7, "likely"), (0.5, "more likely than not"), (0.0, "a guess"))
_CANDIDATES = 3
# Prefixes of TensorFlow's messages: time, level, file and line.
_PREFIX = re.compile(
    r"^(?:\[[^\]]{1,40}\] ?)?(?:[0-9-]{8,10}[ T][0-9:.]{8,16}: )?[IWEF][0-9]{0,4} (?:[0-9:. ]{6,40} )?\S{1,120}\] "
)


def as_document(found: Diagnosis) -> dict[str, object]:
    """Return the diagnosis as JSON; see docs/diagnose.md."""
    return {
        "schema": 1,
        "causes": [_cause_document(cause) for cause in found.causes],
        "noise": [{"id": each.id, "lines": each.count, "first": each.first, "why": each.why} for each in found.noise],
        "seen": _seen(found.seen),
        "lines": found.lines,
    }


def _cause_document(cause: Cause) -> dict[str, object]:
    return {
        "class": cause.finding.id,
        "confidence": cause.confidence,
        "evidence": list(cause.lines),
        "fix": cause.finding.remedy,
        "cause": cause.finding.message,
        "commands": list(cause.commands),
        "quotes": [{"line": quote.line, "text": quote.text} for quote in cause.finding.evidence],
        "signatures": list(cause.signatures),
        "explains": list(cause.explains),
        "tell": cause.tell or None,
        "notes": list(cause.notes),
    }


def _seen(extracted: ExtractedFacts) -> dict[str, object]:
    """Return the versions stated in the log, without empty values."""
    single = {
        "tensorflow": extracted.tensorflow,
        "tensorflow_since": extracted.since if extracted.tensorflow is None else None,
        "tensorflow_until": extracted.until if extracted.tensorflow is None else None,
        "python": extracted.python,
        "keras": extracted.keras,
        "cuda": extracted.cuda,
        "cudnn": extracted.cudnn,
        "cudnn_compiled": extracted.cudnn_compiled,
        "driver": extracted.driver,
        "driver_library": extracted.driver_library,
    }
    document: dict[str, object] = {name: str(value) for name, value in single.items() if value is not None}
    if extracted.gpus:
        document["gpus"] = list(extracted.gpus)
    if extracted.capabilities:
        document["capabilities"] = [str(each) for each in extracted.capabilities]
    if extracted.sonames:
        document["missing"] = list(extracted.sonames)
    sizes = {"gpu_memory": extracted.memory, "gpu_memory_free": extracted.free}
    return document | {name: size for name, size in sizes.items() if size is not None}


def as_text(found: Diagnosis, *, show_all: bool = False) -> str:
    """Return the diagnosis as text, as wide as the terminal."""
    return "\n".join(_lines(found, width(), show_all=show_all))


def _lines(found: Diagnosis, width: int, *, show_all: bool) -> Iterator[str]:
    if not found.causes:
        yield heading("Nothing found.")
        yield paragraph(f"  None of the known failures shows in the {_count(found.lines, 'line')} of this log.", width)
        yield paragraph("  To examine the machine: `envbuilder doctor`", width)
    shown = found.causes if show_all else found.causes[: 1 + _CANDIDATES]
    for place, cause in enumerate(shown):
        yield from _first(cause, width) if place == 0 else _candidate(cause, width, first=place == 1)
    yield from _noise(found, width, show_all=show_all)
    seen = _seen_line(found.seen)
    if seen:
        yield ""
        yield paragraph(f"The log shows {seen}.", width)


def _first(cause: Cause, width: int) -> Iterator[str]:
    colour = Meaning.GOOD if cause.is_harmless else Meaning.BAD
    sure = next(words for least, words in _SURE if cause.confidence >= least)
    title = cause.title if cause.title.startswith("cuDNN") else cause.title[0].upper() + cause.title[1:]
    yield click.style(title, fg=colour, bold=True)
    yield f"  {cause.finding.id}, {sure} ({cause.confidence:.0%})"
    yield ""
    yield paragraph(f"  {cause.finding.message}", width)
    for note in cause.notes:
        yield paragraph(f"  {note}.", width)
    if cause.finding.evidence:
        yield ""
        yield from _quotes(cause, width)
    yield ""
    yield heading("Fix")
    yield paragraph(f"  {cause.finding.remedy}", width)
    for command in cause.commands:
        yield from shell_lines(command, width, first="    ")
    if cause.tell and cause.tell not in cause.commands:
        yield ""
        yield paragraph("To distinguish it from the candidates below:", width)
        yield from shell_lines(cause.tell, width, first="    ")


def _quotes(cause: Cause, width: int) -> Iterator[str]:
    digits = len(str(max(quote.line for quote in cause.finding.evidence)))
    for quote in cause.finding.evidence:
        room = width - digits - 5
        text = quote.text if len(quote.text) <= room else _PREFIX.sub("… ", quote.text)
        text = text if len(text) <= room else f"{text[: room - 2]} …"
        yield f"  {click.style(f'{quote.line:>{digits}}', dim=True)} | {text}"
    more = len(cause.lines) - len(cause.finding.evidence)
    if more > 0:
        yield click.style(f"  and {_count(more, 'further line')}", dim=True)


def _candidate(cause: Cause, width: int, *, first: bool) -> Iterator[str]:
    if first:
        yield ""
        yield heading("Other candidates")
    lines = f", line {cause.lines[0]}" if cause.lines else ""
    yield paragraph(f"  {cause.finding.id} ({cause.confidence:.0%}{lines}): {cause.title}", width)
    yield paragraph(f"      {cause.finding.remedy}", width)


def _noise(found: Diagnosis, width: int, *, show_all: bool) -> Iterator[str]:
    if not found.noise:
        return
    total = sum(each.count for each in found.noise)
    yield ""
    names = ", ".join(each.id for each in found.noise[:4]) + (", …" if len(found.noise) > 4 else "")
    yield paragraph(f"Harmless messages in {_count(total, 'line')}: {names}.", width)
    for each in found.noise if show_all else ():
        yield paragraph(f"  {each.first}: {each.why} ({each.id}, {_count(each.count, 'line')})", width)


def _seen_line(extracted: ExtractedFacts) -> str:
    parts = [
        f"TensorFlow {extracted.tensorflow}" if extracted.tensorflow else "",
        f"Keras {extracted.keras}" if extracted.keras else "",
        f"Python {extracted.python}" if extracted.python else "",
        f"CUDA {extracted.cuda}" if extracted.cuda else "",
        f"cuDNN {extracted.cudnn}" if extracted.cudnn else "",
        f"driver {extracted.driver}" if extracted.driver else "",
        *extracted.gpus[:2],
    ]
    return ", ".join(part for part in parts if part)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"

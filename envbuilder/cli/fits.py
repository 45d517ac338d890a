"""`list --fits`: which rows run on a host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from envbuilder.cli.advice import advice_document, host_text, width
from envbuilder.cli.output import folded, heading, print_json
from envbuilder.cli.targets import read_text
from envbuilder.errors import UsageError
from envbuilder.model.advice import Advice, Reason, Topic, Verdict, Weight
from envbuilder.model.hosts import Host, host_of
from envbuilder.model.rows import Catalog, Environment
from envbuilder.probing.decoding import decode
from envbuilder.probing.here import quick_facts
from envbuilder.workflows.advise import fitting_rows

HERE = "-here-"
_WORDS = {Verdict.FITS: "fits", Verdict.COST: "at a cost", Verdict.NOT: "no"}
_COLOURS = {"fits": "green", "at a cost": "yellow", "may": "yellow", "no": "red"}
_GAP = 2


def show_fits(catalog: Catalog, rows: Sequence[Environment], where: str, *, as_json: bool) -> None:
    """Print for each row whether it runs, and the first reason why not, or what it costs.

    Args:
        catalog: The rows.
        rows: Those to show.
        where: A facts file; `HERE` for this host.
        as_json: Whether to print a document.
    """
    host = _host(where)
    best = fitting_rows(catalog, (host,))
    shown = [best[row.id] for row in rows if row.id in best]
    if as_json:
        print_json({"schema": 1, "host": host_text(host), "environments": [advice_document(each) for each in shown]})
        return
    for line in _lines(shown, host_text(host)):
        click.echo(line)


def _host(where: str) -> Host:
    if where == HERE:
        return host_of(quick_facts())
    file = Path(where)
    if not file.is_file():
        raise UsageError(f"there is no facts file {where}", hint="`envbuilder list GLOB --fits` is about this host")
    return host_of(decode(read_text(file), where), file.name)


def _lines(shown: Sequence[Advice], host: str) -> Iterator[str]:
    yield folded(f"Host: {host}", width())
    yield ""
    verdicts = [_verdict(advice) for advice in shown]
    names = max((len(advice.environment) for advice in shown), default=0)
    column = max(map(len, (*_COLOURS, "HERE")))
    yield heading(f"{'ENVIRONMENT':<{names}}  {'HERE':<{column}}  WHY")
    indent = " " * (names + column + 2 * _GAP)
    for advice, verdict in zip(shown, verdicts, strict=True):
        first, *rest = _folded(_why(advice), width() - len(indent))
        word = click.style(f"{verdict:<{column}}" if first else verdict, fg=_COLOURS[verdict])
        yield f"{advice.environment:<{names}}  {word}{f'  {first}' if first else ''}"
        yield from (f"{indent}{line}" for line in rest)


def _folded(text: str, columns: int) -> list[str]:
    return folded(text, max(columns, 30)).splitlines() or [""]


def _verdict(advice: Advice) -> str:
    return "may" if advice.verdict is Verdict.COST and advice.is_doubtful else _WORDS[advice.verdict]


def _why(advice: Advice) -> str:
    """What decides, shortly; `advise --host` says all of it."""
    weight = Weight.AGAINST if advice.verdict is Verdict.NOT else Weight.COST
    decisive = [reason for reason in advice.reasons if reason.weight is weight]
    topics = {reason.topic for reason in decisive}
    if Topic.GPU in topics and weight is Weight.AGAINST:
        # No other driver helps a GPU that has no code.
        decisive = [reason for reason in decisive if reason.topic is not Topic.DRIVER]
    if decisive:
        return "; ".join(dict.fromkeys(_short(reason) for reason in decisive))
    return next((reason.text for reason in advice.reasons if reason.topic in {Topic.GPU, Topic.KIND}), "")


def _short(reason: Reason) -> str:
    match reason.topic:
        case Topic.BASE:
            return f"on {reason.has}"
        case Topic.DRIVER if reason.weight is Weight.AGAINST and reason.change:
            return reason.change.text
        case Topic.DRIVER:
            return reason.text.partition(": ")[0]
        case _:
            return reason.text.partition("; ")[0]

"""Output of `list --fits`: environments that run on a machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from envbuilder.catalog.buildable import Buildability, Inventory
from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.machine import Host
from envbuilder.catalog.offers import offer
from envbuilder.catalog.verdicts import WORDS, Compatibility, why
from envbuilder.cli.output.buildable import buildable_notes
from envbuilder.cli.output.compatibility import COLOURS, host_text, offer_document
from envbuilder.cli.output.printing import folded, heading, print_json, width
from envbuilder.core.errors import UsageError
from envbuilder.core.files import read_text
from envbuilder.diagnostics.facts.machine import host_of
from envbuilder.diagnostics.probe.decoding import decode
from envbuilder.diagnostics.probe.this_host import quick_facts

_GAP = 2
_LEAST_FOR_REASONS = 30
"""Columns for reasons beside the verdict; with fewer, they stand below it."""


def show_fits(
    catalog: Catalog, rows: Sequence[Environment], where: str, inventory: Inventory, *, as_json: bool
) -> None:
    """Print the verdict for each environment on a machine, with its reason, and those that cannot be built here.

    The machine is that of the facts file `where`; empty for this host.
    """
    host = _host(where)
    offers = [offer(catalog.cuda, row, replace(host, name=""), inventory) for row in rows]
    if as_json:
        documents = [offer_document(each) for each in offers]
        print_json({"schema": 1, "host": host_text(host), "environments": documents})
        return
    for line in _lines([each.compatibility for each in offers], host_text(host)):
        click.echo(line)
    for line in buildable_notes([each.buildable for each in offers if each.buildable.verdict is Buildability.NO]):
        click.echo(line and folded(line))


def _host(where: str) -> Host:
    if not where:
        return host_of(quick_facts())
    file = Path(where)
    if not file.is_file():
        raise UsageError(f"facts file not found: {where}", hint="`envbuilder list GLOB --fits` checks this host")
    return host_of(decode(read_text(file), where), file.name)


def _lines(verdicts: Sequence[Compatibility], host: str) -> Iterator[str]:
    yield folded(f"Host: {host}")
    yield ""
    names = max((len(verdict.environment) for verdict in verdicts), default=0)
    column = max(map(len, (*WORDS.values(), "HERE")))
    yield heading(f"{'ENVIRONMENT':<{names}}  {'HERE':<{column}}  WHY")
    beside = names + column + 2 * _GAP
    is_beside = width() - beside >= _LEAST_FOR_REASONS
    indent = " " * (beside if is_beside else 4)
    for verdict in verdicts:
        reasons = folded("; ".join(map(_short, why(verdict))), width() - len(indent)).splitlines()
        first, *rest = reasons if is_beside and reasons else ["", *reasons]
        word = WORDS[verdict.fit]
        styled = click.style(f"{word:<{column}}" if first else word, fg=COLOURS[verdict.fit])
        yield f"{verdict.environment:<{names}}  {styled}{f'  {first}' if first else ''}"
        yield from (f"{indent}{line}" for line in rest)


def _short(text: str) -> str:
    """Return a sentence without its second half; `advise --host` prints all of it."""
    return text.partition("; ")[0]

"""`envbuilder check --facts FILE`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from envbuilder.catalog.loading import load_catalog
from envbuilder.cli.composition import Composition
from envbuilder.cli.locks import known_lock
from envbuilder.cli.places import places
from envbuilder.cli.reports import FORMAT_NAMES, TIERS, destinations, finish, output_option
from envbuilder.cli.targets import read_text
from envbuilder.model.findings import Tier
from envbuilder.model.locks import Sources
from envbuilder.probing.decoding import decode
from envbuilder.workflows.validate import judge_facts


@click.command("check")
@click.option(
    "--facts",
    "facts_file",
    type=click.Path(allow_dash=True, path_type=Path),
    required=True,
    help="What the probe printed; - for standard input.",
)
@click.option("--lock", "lock_name", metavar="LOCK|ENV", help="What it should be. Default: envbuilder.lock.")
@click.option("--tier", type=TIERS, help="How far the facts go. Default: gpu when they were asked for, else cpu.")
@click.option("--require", type=TIERS, help="Tier that must be proven: what could not be looked at is a failure.")
@click.option("--format", "format_name", type=FORMAT_NAMES, default="text", show_default=True)
@output_option
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
def command(  # noqa: PLR0913  one parameter for each option
    facts_file: Path,
    lock_name: str | None,
    tier: str | None,
    require: str | None,
    format_name: str,
    outputs: tuple[Path, ...],
    *,
    as_json: bool,
) -> None:
    """Judge what the probe saw on another machine. Exit status 1 on findings.

    There: `python probe.py > facts.json`, with the probe that `envbuilder probe` writes. The report is the one that
    `envbuilder validate` would give.
    """
    files = destinations(outputs)
    here = places()
    catalog = load_catalog(here.matrices)
    lock, _ = known_lock(Composition(here, catalog), lock_name, Sources())
    text = sys.stdin.read() if str(facts_file) == "-" else read_text(facts_file)
    facts = decode(text, str(facts_file))
    report = judge_facts(
        catalog,
        lock,
        facts,
        tier=Tier(tier) if tier else None,
        required=Tier(require) if require else None,
        subject=str(facts_file),
        seconds=facts.seconds,
    )
    finish(report, "json" if as_json else format_name, files)

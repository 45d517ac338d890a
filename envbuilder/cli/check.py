"""`envbuilder check --facts FILE`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.cli.context import command_settings
from envbuilder.cli.output.printing import notice
from envbuilder.cli.output.reports import FORMAT_NAMES, TIERS, destinations, finish, finish_all, output_option
from envbuilder.core.errors import UsageError
from envbuilder.core.text_files import read_stream, read_text
from envbuilder.diagnostics.checks.findings import Tier
from envbuilder.diagnostics.probe.decoding import decode
from envbuilder.diagnostics.validate import judge_facts
from envbuilder.lock.lock import Sources
from envbuilder.wiring.locks import known_lock
from envbuilder.wiring.session import Session


@click.command("check")
@click.option(
    "--facts",
    "facts_files",
    type=click.Path(allow_dash=True, path_type=Path),
    required=True,
    multiple=True,
    help="What the probe printed; - for standard input. Several times: one report for each, and a table.",
)
@click.option("--lock", "lock_name", metavar="LOCK|ENV", help="What it should be. Default: envbuilder.lock.")
@click.option("--tier", type=TIERS, help="How far the facts go. Default: gpu when they were asked for, else cpu.")
@click.option("--require", type=TIERS, help="Tier that must be proven: what could not be looked at is a failure.")
@click.option("--format", "format_name", type=FORMAT_NAMES, default="text", show_default=True)
@output_option
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
def command(  # noqa: PLR0913  one parameter for each option
    facts_files: tuple[Path, ...],
    lock_name: str | None,
    tier: str | None,
    require: str | None,
    format_name: str,
    outputs: tuple[Path, ...],
    *,
    as_json: bool,
) -> None:
    """Judge what the probe saw on other machines. Exit status 1 on findings.

    There: `python probe.py > facts.json`, with the probe that `envbuilder probe` writes. The report is the one that
    `envbuilder validate` would give.
    """
    files = destinations(outputs)
    form = "json" if as_json else format_name
    _require_one_file(facts_files, form, outputs)
    here = command_settings()
    catalog = load_catalog(here.matrices)
    lock, _ = known_lock(Session(here, catalog, notice), lock_name, Sources())
    seen = [(str(file), decode(_read(file), str(file))) for file in facts_files]
    reports = [
        judge_facts(
            catalog,
            lock,
            facts,
            tier=Tier(tier) if tier else None,
            required=Tier(require) if require else None,
            subject=name,
            seconds=facts.seconds,
        )
        for name, facts in seen
    ]
    if len(reports) == 1:
        finish(reports[0], form, files)
    else:
        finish_all(reports, form)


def _read(file: Path) -> str:
    return read_stream(sys.stdin.buffer, "-") if str(file) == "-" else read_text(file)


def _require_one_file(facts_files: tuple[Path, ...], form: str, outputs: tuple[Path, ...]) -> None:
    """Raise if several files of facts are given, and what is to be printed or read takes one.

    Raises:
        UsageError: An output file, a format for one report, or standard input twice.
    """
    if facts_files.count(Path("-")) > 1:
        raise UsageError("--facts - can be given once: standard input has one document", hint="name files")
    if len(facts_files) > 1 and (outputs or form not in {"text", "json"}):
        asked = "--output" if outputs else f"--format {form}"
        raise UsageError(
            f"{asked} takes one file of facts, {len(facts_files)} are given",
            hint="use --json, or run the command for each file",
        )

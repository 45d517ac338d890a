"""Reports on standard output, and the exit status that goes with them."""

from __future__ import annotations

import sys

import click

from envbuilder.model.findings import Report, Tier
from envbuilder.reporting.registry import FORMATS, format_named

TIERS = click.Choice([Tier.CPU.value, Tier.GPU.value])
ALL_TIERS = click.Choice([tier.value for tier in Tier])
FORMAT_NAMES = click.Choice(sorted(FORMATS))


def finish(report: Report, name: str) -> None:
    """Print a report; a report with findings ends the command with exit status 1."""
    click.echo(format_named(name).write(report, color=sys.stdout.isatty()), nl=False)
    if not report.passed:
        raise click.exceptions.Exit(1)

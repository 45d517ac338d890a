"""`envbuilder validate`."""

from __future__ import annotations

from pathlib import Path

import click

from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.cli.context import command_settings
from envbuilder.cli.options import MEMORY, engine_option, grouped
from envbuilder.cli.output.printing import notice
from envbuilder.cli.output.reports import ReportOutput, finish, report_options
from envbuilder.cli.validation import ValidationRequest, refuse_several_facts, reports_on
from envbuilder.diagnostics.checks.results import Tier
from envbuilder.diagnostics.report.json_format import report_schema
from envbuilder.wiring.session import Session

_TIER = click.Choice([tier.value for tier in Tier])


def _tier(_context: click.Context, _option: click.Parameter, value: str | None) -> Tier | None:
    return Tier(value) if value else None


def _print_schema(context: click.Context, _option: click.Parameter, value: bool) -> None:  # noqa: FBT001  click's signature
    if value:
        click.echo(report_schema(), nl=False)
        context.exit()


_request_options = grouped(
    "request",
    ValidationRequest,
    click.argument("image", metavar="[IMAGE|ENV|FILE]", default=""),
    click.option(
        "--container", metavar="NAME", default="", help="Look into a container that is running, instead of an image."
    ),
    click.option(
        "--python",
        metavar="PATH",
        default="",
        help="Look at the environment of this interpreter: on this host, or with --container in there.",
    ),
    click.option(
        "--facts",
        metavar="FILE",
        type=click.Path(allow_dash=True, path_type=Path),
        multiple=True,
        help="Judge what the probe printed on another machine; - for standard input. Repeatable.",
    ),
    engine_option(
        "Where the image is. assemble: in the store; run by runc or namespaces. auto: the engine if it has it."
    ),
    click.option(
        "--tier",
        type=_TIER,
        callback=_tier,
        help="How far to go. static: nothing is run. Default: gpu when the engine has GPUs, else cpu.",
    ),
    click.option(
        "--require",
        "required",
        type=_TIER,
        callback=_tier,
        help="Tier that must be proven: what could not be looked at is a failure.",
    ),
    click.option(
        "--device", "devices", multiple=True, metavar="NAME", help="CDI device instead of all GPUs. Repeatable."
    ),
    click.option("--lock", metavar="LOCK|ENV", help="Check against this lock, not the one in the image."),
    click.option(
        "--memory",
        type=MEMORY,
        metavar="POLICY",
        help="Run it with this GPU memory policy instead of its own: limit:4GiB.",
    ),
    click.option(
        "--timeout", type=click.FloatRange(min=1), default=900.0, show_default=True, help="Seconds for the probe."
    ),
)
"""What to look at, and how far; the command gets a `ValidationRequest`."""


@click.command("validate")
@_request_options
@report_options
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON Schema (draft 2020-12) of --json, and do nothing else.",
)
def command(request: ValidationRequest, output: ReportOutput) -> None:
    """Look inside an image and check it against its lock and row. Exit status 1 on findings.

    FILE is an Apptainer image (.sif, .sqsh); for tier static also an OCI layout or archive. Nothing passes by being
    left out: what could not be looked at is reported as not proven, and --require makes that a failure.

    On a machine without envbuilder: `python probe.py > facts.json`, with the probe that `envbuilder probe` writes; then
    here --facts facts.json gives the same report, against --lock or the envbuilder.lock of this directory.
    """
    refuse_several_facts(request.facts, output)
    here = command_settings()
    session = Session(here, load_catalog(here.matrices), notice)
    finish(reports_on(session, request), output)

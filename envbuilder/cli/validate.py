"""`envbuilder validate`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from envbuilder.cli.context import command_settings
from envbuilder.cli.fan_out import (
    FanOutCommand,
    FanOutRequest,
    fan_out_options,
    refuse_with_on,
    run_elsewhere,
    sent_arguments,
)
from envbuilder.cli.options import (
    LOCK_OR_ENVIRONMENT,
    MEMORY,
    EnumChoice,
    device_option,
    engine_option,
    grouped,
    runtime_option,
)
from envbuilder.cli.output.fan_out import ReportOutputs
from envbuilder.cli.output.preflight import warn_before_gpus
from envbuilder.cli.output.printing import notice
from envbuilder.cli.output.reports import ReportOutput, finish, report_options
from envbuilder.cli.session import command_session
from envbuilder.cluster.execution.targets import ExecutionTarget
from envbuilder.core.errors import UsageError
from envbuilder.core.files import read_stream, read_text
from envbuilder.diagnostics.checks.results import OF_ONE_IMAGE
from envbuilder.wiring.execution import files_for, work_item
from envbuilder.wiring.image_requests import target_names
from envbuilder.wiring.spec_catalogs import catalog_of_targets
from envbuilder.wiring.validation import ValidationRequest, reports_on

_IMAGES = "envbuilder.cli.validate.images"
_TIER = EnumChoice(OF_ONE_IMAGE)


def _first_image(context: click.Context, _argument: click.Parameter, value: tuple[str, ...]) -> str:
    """Return the first image, and keep all of them for `--on`."""
    context.meta[_IMAGES] = value
    return next(iter(value), "")


_request_options = grouped(
    "request",
    ValidationRequest,
    click.argument("image", metavar="[IMAGE|ENV|FILE]...", nargs=-1, callback=_first_image),
    click.option("--container", metavar="NAME", default="", help="Validate a running container instead of an image."),
    click.option(
        "--python",
        metavar="PATH",
        default="",
        help="Validate the environment of this interpreter, on this host or in --container.",
    ),
    click.option(
        "--facts",
        metavar="FILE",
        type=click.Path(allow_dash=True, path_type=Path),
        multiple=True,
        help="Validate the output of the probe on another machine; - for standard input. Repeatable.",
    ),
    engine_option(
        "Where the image is. assemble: in the cache directory, run by runc or namespaces."
        " auto: docker if it has the image."
    ),
    runtime_option,
    click.option(
        "--tier",
        type=_TIER,
        help="Extent of the validation. static: run nothing. Default: gpu if the engine has GPUs, else cpu.",
    ),
    click.option(
        "--require",
        "required",
        type=_TIER,
        help="Fail if a check of this tier is not proven.",
    ),
    device_option,
    click.option(
        "--lock",
        type=LOCK_OR_ENVIRONMENT,
        metavar="LOCK|ENV",
        help="Lock to check against. Default: the one in the image.",
    ),
    click.option(
        "--memory",
        type=MEMORY,
        metavar="POLICY",
        help="GPU memory policy to run with, such as limit:4GiB. Default: that of the image.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(min=1),
        default=900.0,
        show_default=True,
        help="Timeout of the probe in seconds.",
    ),
)
"""Object and extent of the validation; the command receives a `ValidationRequest`."""


@click.command("validate", cls=FanOutCommand)
@_request_options
@report_options
@fan_out_options()
def command(request: ValidationRequest, output: ReportOutput, elsewhere: FanOutRequest) -> None:
    """Check an image against its lock and its environment. Exit status 1 if a check fails.

    FILE is an Apptainer image (.sif, .sqsh); with --runtime, or for tier static, also an OCI layout or archive. Checks
    that cannot run are reported as not proven; with --require, they fail.

    On a machine without envbuilder, run the file that `envbuilder probe` writes: `python probe.py > facts.json`. Then
    --facts facts.json gives the same report here, checked against --lock or envbuilder.lock in the current directory.
    """
    _refuse_several_facts(request.facts, output)
    images: tuple[str, ...] = click.get_current_context().meta[_IMAGES]
    if elsewhere.on:
        _validate_elsewhere(images, elsewhere.on, as_json=output.form == "json", again=elsewhere.again)
        return
    if len(images) > 1:
        raise UsageError("several images require --on", hint="add --on local")
    session = command_session(*images)
    warn = partial(warn_before_gpus, session.settings, session.catalog)
    finish(reports_on(session, request, _text, warn), output)


def _validate_elsewhere(images: tuple[str, ...], on: ExecutionTarget, *, as_json: bool, again: bool) -> None:
    """Validate images, each by itself, elsewhere.

    Raises:
        UsageError: No image is named, or an option is for one validation.
    """
    images_only = "specify images or environments"
    one = "use --json, or run the command once for each image"
    refuse_with_on(container=images_only, python=images_only, facts=images_only, outputs=one, junit_file=one)
    if not images:
        raise UsageError("nothing to validate: --on requires images or environments", hint="specify IMAGE or ENV")
    here = command_settings()
    names = target_names(catalog_of_targets(here, images, notice), images)
    items = [
        work_item(here, name, sent_arguments(name, left_out=("format_name",)), files_for(here, name))
        for name in (str(Path(each).absolute()) if Path(each).exists() else each for each in filter(None, names))
    ]
    run_elsewhere(here, on, items, ReportOutputs(), as_json=as_json, again=again)


def _refuse_several_facts(facts: Sequence[Path], output: ReportOutput) -> None:
    """Raise if several files of facts are given, and what is to be printed or read takes one.

    Raises:
        UsageError: An output file, a format for one report, or standard input twice.
    """
    if facts.count(Path("-")) > 1:
        raise UsageError("--facts - cannot be repeated: standard input contains one document", hint="name files")
    if len(facts) > 1 and (output.files or output.form not in {"text", "json"}):
        asked = "an output file" if output.files else f"--format {output.form}"
        raise UsageError(
            f"{asked} accepts one facts file, got {len(facts)}",
            hint="use --json, or run the command once for each file",
        )


def _text(file: Path) -> str:
    return read_stream(sys.stdin.buffer, "-") if str(file) == "-" else read_text(file)

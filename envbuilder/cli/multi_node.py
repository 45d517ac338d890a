"""`envbuilder multi-node run|worker|check`."""

from __future__ import annotations

from pathlib import Path

import click

from envbuilder.cli.completion import environments
from envbuilder.cli.groups import Group
from envbuilder.cli.options import grouped
from envbuilder.cli.output.printing import folded, output_option, write_or_print
from envbuilder.cli.output.reports import ReportOutput, finish, report_options
from envbuilder.cli.session import command_session
from envbuilder.core.files import read_text
from envbuilder.diagnostics.multi_node.local_run import WorkerLimits
from envbuilder.diagnostics.probe.script import worker_source
from envbuilder.wiring.multi_node import LocalRequest, collected_report, local_report

_MOST_WORKERS = 8
_require_option = click.option("--require", is_flag=True, help="Fail if a check is not proven.")


_run_options = grouped(
    "request",
    LocalRequest,
    click.argument("image", metavar="IMAGE|ENV", shell_complete=environments),
    click.option(
        "--workers",
        type=click.IntRange(2, _MOST_WORKERS),
        default=2,
        show_default=True,
        help="Number of workers to start.",
    ),
    grouped(
        "limits",
        WorkerLimits,
        click.option(
            "--wait",
            "meeting",
            type=click.FloatRange(min=1),
            default=120.0,
            show_default=True,
            help="Time limit in seconds for all workers to reach each other.",
        ),
        click.option(
            "--limit",
            "tensorflow",
            type=click.FloatRange(min=1),
            default=900.0,
            show_default=True,
            help="Time limit in seconds for TensorFlow.",
        ),
    ),
    _require_option,
    click.option(
        "--facts",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Directory to write the facts of the workers to.",
    ),
)


@click.group("multi-node", cls=Group)
def command() -> None:
    """Check that several workers of an image train together, or find out why not."""


@command.command("run")
@_run_options
@report_options
def run_command(request: LocalRequest, output: ReportOutput) -> None:
    """Run several workers of an assembled image on this host.

    Each worker has a network namespace of its own. The workers all-reduce known numbers and train with
    MultiWorkerMirroredStrategy on the CPU; the result is compared with that of one worker. Exit status 1 if a check
    fails.
    """
    finish((local_report(command_session(), request),), output)


@command.command("worker")
@output_option
def worker_command(output: Path | None) -> None:
    """Write the worker as one Python file to run in containers.

    Run it in each container of a cluster job. It finds the other workers by TF_CONFIG or the variables of Slurm.
    `python worker.py --help` lists its options.
    """
    if file := write_or_print(worker_source(), output):
        given = f"`python {file.name} --facts DIRECTORY`"
        click.echo(folded(f"next: {given} in each container, then `envbuilder multi-node check`"))


@command.command("check")
@click.argument("files", metavar="DIR|FILE...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@_require_option
@report_options
def check_command(*, files: tuple[Path, ...], require: bool, output: ReportOutput) -> None:
    """Check the facts that workers wrote. Exit status 1 if a check fails.

    DIR contains files worker-*.json. FILE is such a file, or the log of a container that contains the facts.
    """
    finish((collected_report(files, read_text, require=require),), output)

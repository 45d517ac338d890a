"""`envbuilder validate`."""

from __future__ import annotations

from pathlib import Path

import click

from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.cli.context import command_settings
from envbuilder.cli.options import MEMORY, engine_option
from envbuilder.cli.output.printing import notice
from envbuilder.cli.output.reports import ALL_TIERS, FORMAT_NAMES, destinations, finish, output_option
from envbuilder.cli.validation import Asked, report_on
from envbuilder.core.memory_policy import MemoryPolicy
from envbuilder.diagnostics.checks.findings import Tier
from envbuilder.image.builder import Engine
from envbuilder.wiring.session import Session


@click.command("validate")
@click.argument("image", metavar="[IMAGE|ENV|FILE]", required=False)
@click.option("--container", metavar="NAME", help="Look into a container that is running, instead of an image.")
@click.option(
    "--python",
    metavar="PATH",
    help="Look at the environment of this interpreter: on this host, or with --container in there.",
)
@engine_option("Where the image is. assemble: in the store; run by runc or namespaces. auto: the engine if it has it.")
@click.option(
    "--tier",
    type=ALL_TIERS,
    help="How far to go. static: nothing is run. Default: gpu when the engine has GPUs, else cpu.",
)
@click.option("--require", type=ALL_TIERS, help="Tier that must be proven: what could not be looked at is a failure.")
@click.option("--device", "devices", multiple=True, metavar="NAME", help="CDI device instead of all GPUs. Repeatable.")
@click.option("--lock", "lock_name", metavar="LOCK|ENV", help="Check against this lock, not the one in the image.")
@click.option(
    "--memory", type=MEMORY, metavar="POLICY", help="Run it with this GPU memory policy instead of its own: limit:4GiB."
)
@click.option("--format", "format_name", type=FORMAT_NAMES, default="text", show_default=True)
@output_option
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
@click.option(
    "--junit", "junit_file", type=click.Path(dir_okay=False, path_type=Path), help="Write JUnit XML to a file too."
)
@click.option(
    "--timeout", type=click.FloatRange(min=1), default=900.0, show_default=True, help="Seconds for the probe."
)
def command(  # noqa: PLR0913  one parameter for each option
    image: str | None,
    container: str | None,
    python: str | None,
    engine: Engine,
    tier: str | None,
    require: str | None,
    devices: tuple[str, ...],
    lock_name: str | None,
    memory: MemoryPolicy | None,
    format_name: str,
    outputs: tuple[Path, ...],
    junit_file: Path | None,
    timeout: float,
    *,
    as_json: bool,
) -> None:
    """Look inside an image and check it against its lock and row. Exit status 1 on findings.

    FILE is an Apptainer image (.sif, .sqsh); for tier static also an OCI layout or archive. Nothing passes by being
    left out: what could not be looked at is reported as not proven, and --require makes that a failure.
    """
    files = destinations(outputs, junit_file)
    here = command_settings()
    session = Session(here, load_catalog(here.matrices), notice)
    asked = Asked(
        image=image or "",
        container=container or "",
        python=python or "",
        engine=engine,
        tier=Tier(tier) if tier else None,
        required=Tier(require) if require else None,
        devices=devices,
        timeout=timeout,
        memory=memory,
    )
    finish(report_on(session, asked, lock_name), "json" if as_json else format_name, files)

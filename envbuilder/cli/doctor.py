"""`envbuilder doctor [FACTS]`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import click

from envbuilder.cli.output import json_option, print_json
from envbuilder.cli.places import Places, places
from envbuilder.cli.targets import read_text
from envbuilder.errors import UsageError
from envbuilder.files import replacing
from envbuilder.workflows.doctor import Looked, examine, look_into_container, look_into_file, start_looking_at_host
from envbuilder.workflows.look_around import AroundPorts

_NARROWEST, _WIDEST = 60, 120


@click.command("doctor")
@click.argument("facts_file", metavar="[FACTS]", required=False, type=click.Path(allow_dash=True, path_type=Path))
@click.option("--container", metavar="NAME", help="Look into a container that is running, instead of this host.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write what was seen to a file too: FACTS for this command, compare, advise and diagnose.",
)
@click.option(
    "--timeout", type=click.FloatRange(min=1), default=120.0, show_default=True, help="Seconds for the probe."
)
@json_option
def command(
    facts_file: Path | None, container: str | None, output: Path | None, timeout: float, *, as_json: bool
) -> None:
    """Say what is wrong with this host, and which environments run on it. Exit status 1 with a problem.

    FACTS is what `doctor -o` or `python probe.py --hardware` wrote elsewhere; - for standard input. Nothing is computed
    on a GPU and nothing is changed; it needs no root rights, no GPU, no Docker and no network.
    """
    if facts_file and container:
        raise UsageError("a file of facts, and a container", hint="name one of them")
    if output and not output.parent.is_dir():
        raise UsageError(
            f"{output}: there is no folder {output.parent}", hint=f"make it first: mkdir -p {output.parent}"
        )
    here = places()
    look = _look(here, facts_file, container, timeout)
    # From here on this host is looked at; what is only needed afterwards is imported meanwhile.
    from envbuilder.catalog.loading import load_catalog  # noqa: PLC0415
    from envbuilder.cli.doctor_document import doctor_document  # noqa: PLC0415
    from envbuilder.cli.doctor_text import doctor_text  # noqa: PLC0415
    from envbuilder.cli.inventory import inventory  # noqa: PLC0415

    catalog = load_catalog(here.matrices)
    looked = look()
    examination = examine(catalog, looked, inventory(here, catalog))
    if output:
        with replacing(output) as stream:
            stream.write(looked.document)
    if as_json:
        print_json(doctor_document(looked, examination))
    else:
        width = min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST)
        click.echo("\n".join(doctor_text(looked, examination, width)))
    if examination.has_problems:
        raise click.exceptions.Exit(1)


def _look(here: Places, facts_file: Path | None, container: str | None, timeout: float) -> Callable[[], Looked]:
    """What looks; at this host it has begun."""
    if facts_file:
        text = sys.stdin.read() if str(facts_file) == "-" else read_text(facts_file)
        return lambda: look_into_file(text.encode("utf-8", "replace"), str(facts_file))
    if container:
        from envbuilder.building.docker_engine import connect  # noqa: PLC0415  see below

        engine = connect(here.environ)
        return lambda: look_into_container(container, lambda command: engine.execute(container, command, timeout))
    return start_looking_at_host(lambda: _around(here), timeout=timeout)


def _around(here: Places) -> AroundPorts:
    """What is asked around this host; its import takes 0.2 s, in which the probe runs."""
    from envbuilder.cli.looking_around import Around  # noqa: PLC0415

    return Around(here).ports

"""The command `envbuilder doctor`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import click

from envbuilder.cli.context import command_settings
from envbuilder.cli.output.printing import json_option, notice, print_json, width
from envbuilder.core.errors import UsageError
from envbuilder.core.files import read_stream, read_text, replacing
from envbuilder.diagnostics.doctor import (
    HostProbe,
    look_into_container,
    read_facts_file,
    start_probe_of_host,
    start_probe_of_python,
)
from envbuilder.diagnostics.host_environment import HostEnvironmentPorts
from envbuilder.wiring.settings import Settings


@click.command("doctor")
@click.argument("facts_file", metavar="[FACTS]", required=False, type=click.Path(allow_dash=True, path_type=Path))
@click.option("--container", metavar="NAME", help="Inspect a running container instead of this host.")
@click.option(
    "--python",
    metavar="PATH",
    help="Show the versions installed for this interpreter, on this host or in --container. Default: python on PATH.",
)
@click.option("--import", "imports", is_flag=True, help="Also import TensorFlow and list its devices.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the facts to a file, for doctor, compare, advise and diagnose.",
)
@click.option(
    "--timeout", type=click.FloatRange(min=1), default=120.0, show_default=True, help="Timeout of the probe in seconds."
)
@json_option
def command(  # noqa: PLR0913  one parameter for each option
    facts_file: Path | None,
    container: str | None,
    python: str | None,
    output: Path | None,
    timeout: float,
    *,
    imports: bool,
    as_json: bool,
) -> None:
    """Find problems of this host and of an installed TensorFlow. Exit status 1 if there is a problem.

    Shows the installed versions of TensorFlow, CUDA and cuDNN, incompatible versions, and the environments that run on
    this host. FACTS is the output of `doctor -o` or `python probe.py --hardware` on another machine; - for standard
    input. Needs no root privileges, GPU, Docker or network, changes nothing, and runs nothing on a GPU.
    """
    if facts_file and (container or python or imports):
        other = "--container" if container else "--python" if python else "--import"
        raise UsageError(f"FACTS cannot be combined with {other}", hint=f"envbuilder doctor {facts_file}")
    if output and not output.parent.is_dir():
        raise UsageError(f"{output}: directory not found: {output.parent}", hint=f"`mkdir -p {output.parent}`")
    here = command_settings()
    look = (
        _look_into(here, container, python or "", timeout, imports=imports)
        if container
        else _look(here, facts_file, python or "", timeout, imports=imports)
    )
    # This host is probed from here on; later steps import their modules meanwhile.
    from envbuilder.cli.output.doctor_json import doctor_document  # noqa: PLC0415
    from envbuilder.cli.output.doctor_text import doctor_text  # noqa: PLC0415
    from envbuilder.diagnostics.host.table import examine_machine  # noqa: PLC0415
    from envbuilder.wiring.catalogs import known_catalog  # noqa: PLC0415
    from envbuilder.wiring.inventory import inventory  # noqa: PLC0415
    from envbuilder.wiring.shipped_packages import closures  # noqa: PLC0415

    catalog = known_catalog(here, progress=notice)
    looked = look()
    available = inventory(here, catalog)
    examination = examine_machine(
        catalog, looked.facts, looked.host_environment, available, closures(here, catalog).read
    )
    if output:
        with replacing(output) as stream:
            stream.write(looked.document)
    if as_json:
        print_json(doctor_document(looked, examination))
    else:
        is_one_python = bool(python and not container)
        click.echo("\n".join(doctor_text(looked, examination, width(), is_one_python=is_one_python)))
    if examination.has_problems:
        raise click.exceptions.Exit(1)


def _look(here: Settings, file: Path | None, python: str, timeout: float, *, imports: bool) -> Callable[[], HostProbe]:
    """Return the function that waits for the facts; on this host the probe has started."""
    if file:
        text = read_stream(sys.stdin.buffer, "-") if str(file) == "-" else read_text(file)
        return lambda: read_facts_file(text.encode("utf-8", "replace"), str(file))
    search = here.environ.get("PATH", "")
    if python:
        # A name without a directory is searched on PATH, as a shell does.
        program = Path(shutil.which(python, path=search) or python).absolute()
        return start_probe_of_python(program, timeout=timeout, imports=imports)
    found = shutil.which("python", path=search) or shutil.which("python3", path=search)
    python_here = Path(found) if found else None
    return start_probe_of_host(
        lambda: _host_environment_ports(here), timeout=timeout, python=python_here, imports=imports
    )


def _look_into(
    here: Settings, container: str, python: str, timeout: float, *, imports: bool
) -> Callable[[], HostProbe]:
    from envbuilder.image.docker.engine import connect  # noqa: PLC0415  see below

    engine = connect(here.environ)
    return lambda: look_into_container(
        container,
        lambda command: engine.execute(container, command, timeout),
        python,
        timeout=timeout,
        imports=imports,
    )


def _host_environment_ports(here: Settings) -> HostEnvironmentPorts:
    """Return the ports for the surroundings of this host; their import takes 0.2 s, during which the probe runs."""
    from envbuilder.wiring.host_environment import host_environment  # noqa: PLC0415

    return host_environment(here)

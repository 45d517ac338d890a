"""`envbuilder adopt PATH`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import click

from envbuilder.catalog.advise.advice import Query
from envbuilder.catalog.load.api_names import load_api
from envbuilder.catalog.selection import find
from envbuilder.cli.context import command_settings
from envbuilder.cli.machine_options import driver_option, gpu_option, host_option
from envbuilder.cli.options import grouped, source_options
from envbuilder.cli.output.adoption import adoption_document, adoption_text, notes
from envbuilder.cli.output.printing import json_option, notice, print_json, width
from envbuilder.core.errors import UsageError
from envbuilder.core.files import write_text
from envbuilder.image.dockerfile.spec_file import render_spec
from envbuilder.lock.adopt import Adoption, choose_environment, resolvable, spec_of
from envbuilder.lock.lockfile import SPEC
from envbuilder.lock.project.conclusions import conclude
from envbuilder.lock.project.files import project_files
from envbuilder.lock.project.reading import read_project
from envbuilder.lock.spec import with_sources
from envbuilder.lock.spec_values import Sources, Spec
from envbuilder.wiring.catalogs import known_catalog
from envbuilder.wiring.machines import machines
from envbuilder.wiring.project import last_change
from envbuilder.wiring.session import Session
from envbuilder.wiring.unpinned import unpinned_lock


@dataclass(frozen=True, slots=True, kw_only=True)
class _Machine:
    gpus: tuple[str, ...]
    driver: str | None
    hosts: tuple[Path, ...]
    cpu: bool


_machine_options = grouped(
    "machine",
    _Machine,
    gpu_option,
    driver_option,
    host_option,
    click.option("--cpu", is_flag=True, help="Choose a CPU environment."),
)


@click.command("adopt")
@click.argument("folder", metavar="PATH", type=click.Path(path_type=Path))
@_machine_options
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write. Default: PATH/envbuilder.yaml.")
@click.option("--dry-run", is_flag=True, help="Write nothing.")
@source_options
@json_option
def command(  # noqa: PLR0913  one parameter for each option
    folder: Path, machine: _Machine, output: Path | None, sources: Sources, *, dry_run: bool, as_json: bool
) -> None:
    """Write an envbuilder.yaml for an existing project.

    Reads requirements, metadata, Dockerfiles, notebooks and sources without running them, chooses the environment that
    fits, resolves the packages, and reports what had to change and why. Never overwrites a file. Exit status 1 if no
    environment fits.
    """
    target = output or folder / SPEC
    if target.exists() and not dry_run:
        raise UsageError(f"{target} already exists", hint="choose another file with -o, or use --dry-run")
    here = command_settings()
    catalog = known_catalog(here, progress=notice)
    reading = read_project(project_files(folder))
    found = conclude(reading, load_api(here.matrices))
    hosts = machines(catalog, machine.driver, machine.gpus, machine.hosts)
    choice = choose_environment(catalog, found, Query(hosts=hosts, cpu=machine.cpu))
    day = last_change(folder)
    adoption = Adoption(files=reading.files, last_change=day, found=found, choice=choice)
    if choice.advice:
        wanted = with_sources(spec_of(catalog, found, choice.advice, day), sources)
        spec, changes = resolvable(wanted, partial(_resolve, Session(here, catalog, lambda _: None)))
        adoption = replace(adoption, spec=spec, changes=changes)
    is_written = adoption.spec is not None and not dry_run
    if adoption.spec and is_written:
        row = find(catalog, adoption.spec.environment)
        write_text(target, render_spec(row, here.templates, adoption.spec, notes(adoption)))
    if as_json:
        print_json(adoption_document(adoption, target if is_written else None))
    else:
        click.echo(adoption_text(adoption, width()))
        if is_written:
            click.echo(f"\nwrote {target}")
            click.echo(f"next: `envbuilder lock{'' if target == Path(SPEC) else f' {target}'}`")
    if adoption.spec is None:
        raise click.exceptions.Exit(1)


def _resolve(session: Session, spec: Spec) -> None:
    notice(f"resolving {len(spec.packages)} packages on {spec.environment}")
    unpinned_lock(session, spec)

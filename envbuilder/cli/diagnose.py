"""`envbuilder diagnose LOG|-`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from envbuilder.catalog.failures import load_failures
from envbuilder.catalog.loading import load_catalog
from envbuilder.cli.composition import Composition
from envbuilder.cli.diagnosed import as_document, as_text
from envbuilder.cli.locks import known_lock
from envbuilder.cli.output import json_option, print_json
from envbuilder.cli.places import places
from envbuilder.cli.targets import read_text
from envbuilder.model.locks import Sources
from envbuilder.probing.decoding import decode
from envbuilder.workflows.diagnose import diagnose_log


@click.command("diagnose")
@click.argument("log", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@click.option("--facts", "facts_file", type=click.Path(path_type=Path), help="Facts of the machine: doctor -o, probe.")
@click.option("--lock", "lock_name", metavar="LOCK|ENV", help="The environment that it ran in.")
@click.option("--all", "show_all", is_flag=True, help="Show every candidate and every kind of noise.")
@json_option
def command(log: Path, facts_file: Path | None, lock_name: str | None, *, show_all: bool, as_json: bool) -> None:
    """Say why a log ends badly, and what to change. LOG may be - for standard input.

    Any size, any encoding; of TensorFlow 1 and 2, Docker, Kubernetes, Slurm, pip and the driver. The lines that prove a
    cause are quoted with their numbers; what means nothing is summed up. Exit status 0 when the log could be read.
    """
    here = places()
    catalog = load_catalog(here.matrices)
    facts = decode(read_text(facts_file), str(facts_file)) if facts_file else None
    lock = known_lock(Composition(here, catalog), lock_name, Sources())[0] if lock_name else None
    failures = load_failures(here.matrices)
    if str(log) == "-":
        found = diagnose_log(catalog, failures, sys.stdin.buffer.read, facts=facts, lock=lock)
    else:
        with log.open("rb") as stream:
            found = diagnose_log(catalog, failures, stream.read, facts=facts, lock=lock)
    if as_json:
        print_json(as_document(found))
    else:
        click.echo(as_text(found, show_all=show_all))

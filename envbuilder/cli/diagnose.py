"""`envbuilder diagnose LOG|-`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import BinaryIO

import click

from envbuilder.catalog.buildable import Inventory
from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.load.api_names import load_api
from envbuilder.catalog.selection import named
from envbuilder.cli.context import command_settings
from envbuilder.cli.output.diagnosis import as_document, as_text
from envbuilder.cli.output.printing import json_option, notice, print_json
from envbuilder.core.errors import UsageError
from envbuilder.core.files import open_regular, read_text
from envbuilder.diagnostics.logs.context import LogContext
from envbuilder.diagnostics.logs.diagnosis import diagnose
from envbuilder.diagnostics.logs.signatures import load_failures
from envbuilder.wiring.catalogs import known_catalog
from envbuilder.wiring.inventory import inventory


@click.command("diagnose")
@click.argument("log", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@click.option(
    "--facts",
    "facts_file",
    type=click.Path(path_type=Path),
    help="Facts of the machine, from `doctor -o` or the probe.",
)
@click.option("--lock", "lock_name", metavar="LOCK|ENV", help="Lock or environment of the failed run.")
@click.option("--all", "show_all", is_flag=True, help="Show all possible causes and all harmless messages.")
@json_option
def command(log: Path, facts_file: Path | None, lock_name: str | None, *, show_all: bool, as_json: bool) -> None:
    """Find the cause of a failure in a log, and a fix. LOG is a file, or - for standard input.

    Reads logs of any size and encoding, from TensorFlow 1 and 2, Docker, Kubernetes, Slurm, pip and the driver. Each
    cause is shown with the lines that prove it and their numbers; harmless messages are summarized. Exit status 0 if
    the log could be read, 2 if it is empty.
    """
    here = command_settings()
    catalog = known_catalog(here, progress=notice)
    available = partial(inventory, here, catalog)
    known = _context(catalog, facts_file, lock_name, available) if facts_file or lock_name else LogContext()
    failures = load_failures(here.matrices)
    with nullcontext(sys.stdin.buffer) if str(log) == "-" else _opened(log) as stream:
        reading = _Reading(stream.read, str(log))
        found = diagnose(
            catalog,
            failures,
            reading,
            known,
            api=partial(load_api, here.matrices),
            inventory=available,
        )
    if reading.empty:
        raise _empty(log)
    if as_json:
        print_json(as_document(found))
    else:
        click.echo(as_text(found, show_all=show_all))


def _context(
    catalog: Catalog, facts_file: Path | None, lock_name: str | None, available: Callable[[], Inventory]
) -> LogContext:
    # Facts and locks are read for options only: without these, a log is diagnosed faster.
    from envbuilder.diagnostics.logs.context_sources import (  # noqa: PLC0415
        context_of,
        context_of_environment,
        context_of_lock,
    )
    from envbuilder.diagnostics.probe.decoding import decode  # noqa: PLC0415
    from envbuilder.lock.lockfile import lock_path, read_lock  # noqa: PLC0415

    facts = decode(read_text(facts_file), str(facts_file)) if facts_file else None
    if not lock_name:
        return context_of(facts, None)
    path = lock_path(lock_name)
    ran_in = (
        context_of_lock(read_lock(path)) if path else context_of_environment(named(catalog, lock_name), available())
    )
    return context_of(facts, ran_in)


class _Reading:
    """Reader of a log that records if it was empty.

    Attributes:
        empty: True until anything other than white space was read.
    """

    def __init__(self, read: Callable[[int], bytes], name: str) -> None:
        self._read = read
        self._name = name
        self.empty = True

    def __call__(self, size: int) -> bytes:
        try:
            piece = self._read(size)
        except OSError as error:
            raise _unreadable(self._name, error) from error
        self.empty = self.empty and not piece.strip()
        return piece


def _opened(log: Path) -> BinaryIO:
    try:
        return open_regular(log)
    except OSError as error:
        raise _unreadable(str(log), error) from error


def _unreadable(name: str, error: OSError) -> UsageError:
    return UsageError(
        f"the log {name} cannot be read: {error.strerror}",
        hint="specify a file, or pipe the output: `COMMAND 2>&1 | envbuilder diagnose -`",
    )


def _empty(log: Path) -> UsageError:
    if str(log) == "-":
        return UsageError(
            "the log is empty: no data on standard input",
            hint="redirect standard error too: `python train.py 2>&1 | envbuilder diagnose -`",
        )
    return UsageError(f"the log is empty: {log}", hint="redirect both streams: `python train.py > train.log 2>&1`")

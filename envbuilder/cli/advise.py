"""`envbuilder advise`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from envbuilder.catalog.advise.advice import Query, RequestedRange, requested_range, requested_release
from envbuilder.catalog.advise.recommend import advise
from envbuilder.catalog.buildable import Inventory
from envbuilder.catalog.environments import Catalog
from envbuilder.cli.context import command_settings
from envbuilder.cli.machine_options import driver_option, gpu_option, host_option, machines
from envbuilder.cli.options import grouped
from envbuilder.cli.output.advice import asked_text, recommendation_document, recommendation_text
from envbuilder.cli.output.printing import json_option, notice, print_json, width
from envbuilder.core.errors import UsageError
from envbuilder.core.versions import Release
from envbuilder.wiring.catalogs import known_catalog
from envbuilder.wiring.inventory import inventory


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The conditions for an environment, as typed.

    Attributes:
        tensorflow: Releases; `keras`, `cuda` and `cudnn` likewise.
        python: Interpreter.
        driver: Driver of the machine.
        gpus: GPUs that must all run, by name or compute capability.
        glibc: C library of a system where the wheel is to run without a container.
        cpu: Only environments without a GPU.
        hosts: Files with facts of machines.
        base: Base of the image; empty for any.
    """

    tensorflow: str | None
    python: str | None
    driver: str | None
    gpus: tuple[str, ...]
    keras: str | None
    cuda: str | None
    cudnn: str | None
    glibc: str | None
    cpu: bool
    hosts: tuple[Path, ...]
    base: str


_condition_options = grouped(
    "conditions",
    Conditions,
    click.option("--tensorflow", metavar="SPEC", help="TensorFlow version: 2.4, 2.4.1 or '>=2.4,<2.6'."),
    click.option("--python", metavar="X.Y", help="Python version."),
    driver_option,
    gpu_option,
    click.option("--keras", metavar="SPEC", help="Version of standalone Keras."),
    click.option("--cuda", metavar="SPEC", help="Version of the CUDA libraries."),
    click.option("--cudnn", metavar="SPEC", help="Version of cuDNN."),
    click.option("--glibc", metavar="X.Y", help="glibc version of a system on which to run without a container."),
    click.option("--cpu", is_flag=True, help="Show CPU environments only."),
    host_option,
    click.option("--base", default="", metavar="ID", help="Base of the image; `base list` shows them."),
)


@click.command("advise")
@_condition_options
@click.option(
    "--limit", type=click.IntRange(1), default=5, show_default=True, help="Maximum number of environments to show."
)
@json_option
def command(conditions: Conditions, limit: int, *, as_json: bool) -> None:
    """Recommend environments that meet all requirements, best first, with reasons.

    If none fits, show the nearest environments and what to change. Without options, show the default ranking. Exit
    status 0 if an environment fits, 1 if none does.
    """
    here = command_settings()
    catalog = known_catalog(here, progress=notice)
    query = _query(catalog, conditions, inventory(here, catalog))
    found = advise(catalog, query)
    if as_json:
        print_json(recommendation_document(found, asked_text(query), limit))
    else:
        click.echo(recommendation_text(found, asked_text(query), limit, width()))
    if not found.fitting:
        raise click.exceptions.Exit(1)


def _query(catalog: Catalog, conditions: Conditions, available: Inventory) -> Query:
    return Query(
        tensorflow=_range(conditions.tensorflow, "TensorFlow"),
        python=_python(conditions.python),
        keras=_range(conditions.keras, "Keras"),
        cuda=_range(conditions.cuda, "CUDA"),
        cudnn=_range(conditions.cudnn, "cuDNN"),
        glibc=requested_release(conditions.glibc, "glibc") if conditions.glibc else None,
        base=_base(catalog, conditions.base),
        cpu=conditions.cpu,
        inventory=available,
        hosts=machines(catalog, conditions.driver, conditions.gpus, conditions.hosts),
    )


def _range(text: str | None, what: str) -> RequestedRange | None:
    return requested_range(text, what) if text else None


def _python(text: str | None) -> Release | None:
    if not text:
        return None
    return Release(requested_release(text, "Python").series)


def _base(catalog: Catalog, name: str) -> str:
    known = {base.id for base in catalog.bases}
    if name and name not in known:
        raise UsageError(f"unknown base: {name!r}", hint=f"available: {', '.join(sorted(known))}")
    return name

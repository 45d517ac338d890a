"""`envbuilder advise`."""

from __future__ import annotations

import click

from envbuilder.catalog.advise.conditions import Conditions, query_of
from envbuilder.catalog.advise.recommend import advise
from envbuilder.cli.context import command_settings
from envbuilder.cli.options import driver_option, gpu_option, grouped, host_option
from envbuilder.cli.output.advice import asked_text, recommendation_document, recommendation_text
from envbuilder.cli.output.printing import json_option, notice, print_json, width
from envbuilder.wiring.catalogs import known_catalog
from envbuilder.wiring.inventory import inventory
from envbuilder.wiring.machines import machines

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
    described = machines(catalog, conditions.driver, conditions.gpus, conditions.hosts)
    query = query_of(catalog, conditions, described, inventory(here, catalog))
    found = advise(catalog, query)
    if as_json:
        print_json(recommendation_document(found, asked_text(query), limit))
    else:
        click.echo(recommendation_text(found, asked_text(query), limit, width()))
    if not found.fitting:
        raise click.exceptions.Exit(1)

"""`envbuilder scan [LOCK|ENV|IMAGE]`."""

from __future__ import annotations

import click

from envbuilder.cli.options import engine_option
from envbuilder.cli.output.printing import json_option, print_json
from envbuilder.cli.output.vulnerabilities import document, lines
from envbuilder.cli.session import command_session
from envbuilder.diagnostics.vulnerabilities.rating import Rating
from envbuilder.diagnostics.vulnerabilities.scan import failing, scan
from envbuilder.image.builder import Engine
from envbuilder.wiring.scanning import opened_databases, scanned_lock

_NEVER = "none"
_LEVELS = [rating.value for rating in reversed(Rating) if rating is not Rating.UNKNOWN]


@click.command("scan")
@click.argument("target", metavar="[LOCK|ENV|IMAGE]", required=False)
@click.option(
    "--database",
    "databases",
    metavar="PATH|URL",
    multiple=True,
    help="OSV database: a directory or zip file of JSON documents. Repeatable. Default: ENVBUILDER_OSV.",
)
@click.option(
    "--fail-on",
    type=click.Choice([*_LEVELS, _NEVER]),
    default=Rating.HIGH.value,
    show_default=True,
    help="Lowest severity for exit status 1. An unknown severity counts as any.",
)
@click.option("--ignore-unfixable", is_flag=True, help="Exit status 1 only for what this environment can fix.")
@engine_option("Where to look for an image. auto: assembled images first.")
@click.option("--name", default="", help="Name of the image in a layout or archive with several images.")
@json_option
def command(  # noqa: PLR0913  one parameter for each option
    target: str | None,
    databases: tuple[str, ...],
    fail_on: str,
    engine: Engine,
    name: str,
    *,
    ignore_unfixable: bool,
    as_json: bool,
) -> None:
    """Find known vulnerabilities of the packages of a lock or an image. Exit status 1 for severe ones.

    Python and OS packages are compared with databases in the OSV schema that you name; nothing is fetched by default.
    Each vulnerability is listed with its fix within the environment, or the reason why there is none.
    """
    session = command_session(target)
    lock = scanned_lock(session, target, name, engine)
    with opened_databases(session, databases) as opened:
        found = scan(lock, session.catalog, opened)
    least = None if fail_on == _NEVER else Rating(fail_on)
    fails = failing(found, least, only_fixable=ignore_unfixable)
    if as_json:
        print_json(document(lock, found, fails))
    else:
        click.echo("\n".join(lines(lock, found, fails)))
    if least and (fails or found.unread):
        raise click.exceptions.Exit(1)

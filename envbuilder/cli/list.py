"""`envbuilder list [GLOB]`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from envbuilder.catalog.buildable import Buildability, Buildable, buildable
from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.evidence import Grade
from envbuilder.catalog.selection import matching
from envbuilder.cli.context import command_settings
from envbuilder.cli.output.buildable import buildable_document, buildable_notes, catalog_document, catalog_notes
from envbuilder.cli.output.printing import folded, json_option, meaning, notice, print_json, table
from envbuilder.cli.output.terminal import Meaning
from envbuilder.wiring.catalogs import known_catalog
from envbuilder.wiring.inventory import inventory

HERE = "-here-"
_BUILDS = {
    Buildability.YES: meaning("yes", Meaning.GOOD),
    Buildability.UNKNOWN: meaning("maybe", Meaning.DOUBTFUL),
    Buildability.NO: meaning("no", Meaning.BAD),
}
_PROVEN = {
    Grade.CPU: Meaning.NEUTRAL,
    Grade.IMAGE_WITH_STAND_INS: Meaning.NEUTRAL,
    Grade.IMAGE: Meaning.GOOD,
    Grade.GPU: Meaning.GOOD,
}
"""Colours of evidence that something ran; an environment that was only documented, measured or resolved has none."""


@click.command("list")
@click.argument("pattern", metavar="[GLOB]", default="*")
@click.option(
    "--gpus", is_flag=True, help="Show the GPUs that each environment supports: natively, by JIT compilation, or not."
)
@click.option(
    "--fits",
    metavar="[FILE]",
    is_flag=False,
    flag_value=HERE,
    help="Show which environments run on this host, or on the host of a facts file, and why others do not.",
)
@json_option
def command(pattern: str, *, gpus: bool, fits: str | None, as_json: bool) -> None:
    """List the available environments whose id matches GLOB.

    DRIVER is the oldest NVIDIA driver that the CUDA libraries run on. PROVEN is the strongest evidence: documented,
    measured (from the wheel), resolved, cpu (trained, saved and loaded in a virtual environment), stand-ins (the same
    in the image, where other libraries replace CUDA and cuDNN), image (the same with CUDA and cuDNN), gpu. BUILDS tells
    whether a base and an interpreter are available, as far as known without network access. BASE is the preferred base
    and the number of alternatives, and is left out on a narrow terminal; `show ENV` lists them.
    """
    here = command_settings()
    catalog = known_catalog(here, progress=notice)
    rows = matching(catalog, pattern)
    # Modules for a single option are imported with it: a plain list starts faster.
    if fits:
        from envbuilder.cli.output.fits import show_fits  # noqa: PLC0415

        show_fits(catalog, rows, "" if fits == HERE else fits, inventory(here, catalog), as_json=as_json)
    elif gpus:
        from envbuilder.cli.output.gpus import gpu_document, gpu_table  # noqa: PLC0415

        if as_json:
            print_json(gpu_document(catalog, rows))
        else:
            click.echo(gpu_table(catalog, rows))
    else:
        available = inventory(here, catalog)
        _show(catalog, [(row, buildable(row, available)) for row in rows], as_json=as_json)


def _show(catalog: Catalog, rows: Sequence[tuple[Environment, Buildable]], *, as_json: bool) -> None:
    if as_json:
        print_json({"schema": 1, "environments": [_document(catalog, row, answer) for row, answer in rows]})
        return
    header = ("ENVIRONMENT", "TF", "CUDA", "CUDNN", "PYTHON", "DRIVER", "PROVEN", "BUILDS", "BASE")
    click.echo(table(header, [_line(catalog, row, answer) for row, answer in rows], optional=len(header) - 1))
    environments = [row for row, _ in rows]
    notes = buildable_notes([answer for _, answer in rows])
    for line in (*_open_questions(environments), *notes, *catalog_notes(catalog, environments)):
        click.echo(line and folded(line))


def _line(catalog: Catalog, row: Environment, answer: Buildable) -> tuple[str, ...]:
    cuda = row.cuda
    pythons = [str(python) for python in row.pythons]
    floor = catalog.driver_floor(row, row.bases[0])
    return (
        row.id,
        str(row.framework.version),
        str(cuda.compiled) if cuda else "-",
        str(cuda.cudnn.compiled) if cuda else "-",
        pythons[0] if len(pythons) == 1 else f"{pythons[0]}-{pythons[-1]}",
        str(floor) if floor else "-",
        meaning("stand-ins" if row.proven is Grade.IMAGE_WITH_STAND_INS else row.proven.value, _PROVEN.get(row.proven)),
        _BUILDS[answer.verdict],
        _bases(row),
    )


def _bases(row: Environment) -> str:
    """Return the preferred base, and the number of others."""
    more = len(row.bases) - 1
    return f"{row.bases[0].system.id} +{more}" if more else row.bases[0].system.id


def _open_questions(rows: Sequence[Environment]) -> Iterator[str]:
    """Yield the number of environments with a failed proof, and the command that shows the reason."""
    count = sum(bool(row.unproven) for row in rows)
    if count:
        yield ""
        yield f"Environments with a failed proof: {count}; `envbuilder show ENV` has the reasons"


def _document(catalog: Catalog, row: Environment, answer: Buildable) -> dict[str, object]:
    floor = catalog.driver_floor(row, row.bases[0])
    return {
        "id": row.id,
        "summary": row.summary,
        "tensorflow": {"package": row.framework.package, "version": str(row.framework.version)},
        "cuda": str(row.cuda.compiled) if row.cuda else None,
        "cudnn": str(row.cuda.cudnn.compiled) if row.cuda else None,
        "pythons": [str(python) for python in row.pythons],
        "default_python": str(row.default_python),
        "driver": str(floor) if floor else None,
        "proven": row.proven.value,
        "unproven": [
            {"grade": each.grade.value, "why": each.why, "when": each.when.isoformat()} for each in row.unproven
        ],
        "buildable": buildable_document(answer),
        "catalog": catalog_document(catalog, row),
        "bases": [choice.system.id for choice in row.bases],
    }

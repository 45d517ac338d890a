"""`envbuilder list [GLOB]`."""

from __future__ import annotations

import click

from envbuilder.catalog.loading import load_catalog
from envbuilder.catalog.naming import matching
from envbuilder.cli.output import json_option, print_json, table
from envbuilder.cli.places import places
from envbuilder.model.rows import Catalog, Environment

_GRADES = ("documented", "measured", "resolved", "cpu", "gpu")


@click.command("list")
@click.argument("pattern", metavar="[GLOB]", default="*")
@json_option
def command(pattern: str, *, as_json: bool) -> None:
    """Show the environments of the catalog whose id matches GLOB."""
    catalog = load_catalog(places().matrices)
    rows = matching(catalog, pattern)
    if as_json:
        print_json({"schema": 1, "environments": [_document(catalog, row) for row in rows]})
        return
    header = ("ENVIRONMENT", "TENSORFLOW", "CUDA", "CUDNN", "PYTHON", "DRIVER", "PROVEN", "BASES")
    click.echo(table(header, [_line(catalog, row) for row in rows]))


def _line(catalog: Catalog, row: Environment) -> tuple[str, ...]:
    cuda = row.cuda
    pythons = [str(python) for python in row.pythons]
    floor = catalog.driver_floor(row, row.bases[0])
    return (
        row.id,
        str(row.framework.version),
        str(cuda.compiled) if cuda else "-",
        str(cuda.cudnn.compiled) if cuda else "-",
        pythons[0] if len(pythons) == 1 else f"{pythons[0]}-{pythons[-1]}",
        f">={floor}" if floor else "-",
        _grade(row),
        ", ".join(choice.system.id for choice in row.bases),
    )


def _document(catalog: Catalog, row: Environment) -> dict[str, object]:
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
        "proven": _grade(row),
        "bases": [choice.system.id for choice in row.bases],
    }


def _grade(row: Environment) -> str:
    """The strongest evidence of a row."""
    return max((evidence.grade for evidence in row.evidence), key=_GRADES.index)

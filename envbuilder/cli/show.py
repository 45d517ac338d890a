"""`envbuilder show ENV`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from envbuilder.catalog.loading import load_catalog
from envbuilder.catalog.naming import find
from envbuilder.cli.output import folded, heading, json_option, print_json
from envbuilder.cli.places import places
from envbuilder.model.cuda import CudaNeed
from envbuilder.model.rows import BaseChoice, Catalog, Constraint, Environment


@click.command("show")
@click.argument("environment", metavar="ENV")
@json_option
def command(environment: str, *, as_json: bool) -> None:
    """Show one environment: every pin, and the reason behind it."""
    catalog = load_catalog(places().matrices)
    row = find(catalog, environment)
    if as_json:
        print_json({"schema": 1, **_document(catalog, row)})
        return
    click.echo("\n".join(line and folded(line) for line in _lines(catalog, row)))


def _lines(catalog: Catalog, row: Environment) -> Iterator[str]:
    yield f"{heading(row.id)}  {row.summary}"
    yield ""
    yield heading("TensorFlow")
    yield f"  {row.framework.package}=={row.framework.version}, for Python {_joined(row.pythons)}"
    avx = ", and a processor with AVX" if row.framework.needs_avx else ""
    yield f"  needs glibc {row.framework.glibc} or later{avx}"
    if row.cuda:
        yield from _cuda_lines(catalog, row, row.cuda)
    yield ""
    yield heading(f"Packages as of {row.cutoff}")
    yield from _constraint_lines(row.constraints, "bound")
    yield from _constraint_lines(row.additions, "added")
    if row.source_builds:
        yield f"  built from source, as they have no wheels: {', '.join(row.source_builds)}"
    yield ""
    yield heading("Bases, in order of preference")
    for place, choice in enumerate(row.bases, start=1):
        yield from _base_lines(catalog, row, place, choice)
    yield ""
    yield heading("Known to work")
    for evidence in row.evidence:
        yield f"  {evidence.grade:<11} {evidence.when}  {evidence.what}"
    yield ""
    yield heading("Sources")
    for source in (*row.framework.sources, *row.sources):
        yield f"  {source.text}"


def _cuda_lines(catalog: Catalog, row: Environment, cuda: CudaNeed) -> Iterator[str]:
    yield ""
    yield heading("CUDA")
    yield f"  compiled with CUDA {cuda.compiled}, starts with {cuda.cudnn.rule.describe(cuda.cudnn.compiled)}"
    yield f"  driver {catalog.driver_floor(row, row.bases[0])} or later"
    when = "loaded with TensorFlow; import fails without them" if cuda.linkage == "needed" else "opened at run time"
    yield f"  libraries ({when}): {', '.join(cuda.sonames)}"
    yield "  GPUs:"
    for gpu in catalog.cuda.gpus:
        older = f"; CUDA {cuda.compiled} itself is older than this GPU" if cuda.compiled < gpu.since else ""
        yield f"    {gpu.capability!s:<5} {cuda.code.coverage(gpu.capability).value:<13} {gpu.name}{older}"


def _constraint_lines(constraints: tuple[Constraint, ...], word: str) -> Iterator[str]:
    for constraint in constraints:
        yield f"  {word} {constraint.requirement}"
        yield f"      {constraint.advisory.title}: {constraint.advisory.reason}"
        yield f"      [{constraint.advisory.id}; {'; '.join(source.text for source in constraint.advisory.sources)}]"


def _base_lines(catalog: Catalog, row: Environment, place: int, choice: BaseChoice) -> Iterator[str]:
    system = choice.system
    where = (
        f"{system.image}{'@' + system.digest if system.digest else ''}" if system.image else f"Debian {system.suite}"
    )
    yield f"  {place}. {system.id}: {where}"
    yield f"     {system.status}"
    yield f"     Python {choice.python} from {choice.python_provider.value}, glibc {system.glibc}"
    if choice.cuda:
        floor = catalog.driver_floor(row, choice)
        libraries = f"CUDA {choice.cuda}, cuDNN {choice.cudnn}"
        yield f"     {libraries} from {choice.cuda_provider.value}; driver {floor} or later"
    for deviation in choice.deviations:
        yield f"     deviation: {deviation.what}"
        yield f"                {deviation.why}"


def _joined(values: tuple[object, ...]) -> str:
    return ", ".join(str(value) for value in values)


def _document(catalog: Catalog, row: Environment) -> dict[str, object]:
    return {
        "id": row.id,
        "summary": row.summary,
        "tensorflow": {
            "package": row.framework.package,
            "version": str(row.framework.version),
            "pythons": [str(python) for python in row.pythons],
            "glibc": str(row.framework.glibc),
            "needs_avx": row.framework.needs_avx,
            "measured": row.framework.measured or None,
        },
        "cuda": _cuda_document(catalog, row.cuda) if row.cuda else None,
        "cutoff": row.cutoff.isoformat(),
        "constraints": [_constraint_document(constraint) for constraint in row.constraints],
        "additions": [_constraint_document(constraint) for constraint in row.additions],
        "source_builds": list(row.source_builds),
        "bases": [_base_document(catalog, row, choice) for choice in row.bases],
        "evidence": [{"grade": each.grade, "what": each.what, "when": each.when.isoformat()} for each in row.evidence],
        "sources": [source.text for source in (*row.framework.sources, *row.sources)],
    }


def _cuda_document(catalog: Catalog, cuda: CudaNeed) -> dict[str, object]:
    return {
        "compiled": str(cuda.compiled),
        "linkage": cuda.linkage,
        "sonames": list(cuda.sonames),
        "optional": list(cuda.optional),
        "cudnn": {"compiled": str(cuda.cudnn.compiled), "rule": cuda.cudnn.rule.value},
        "gpus": [
            {
                "name": gpu.name,
                "capability": str(gpu.capability),
                "coverage": cuda.code.coverage(gpu.capability).value,
                "cuda_knows_it": cuda.compiled >= gpu.since,
            }
            for gpu in catalog.cuda.gpus
        ],
    }


def _constraint_document(constraint: Constraint) -> dict[str, object]:
    return {
        "requirement": constraint.requirement,
        "advisory": constraint.advisory.id,
        "title": constraint.advisory.title,
        "reason": constraint.advisory.reason,
        "sources": [source.text for source in constraint.advisory.sources],
    }


def _base_document(catalog: Catalog, row: Environment, choice: BaseChoice) -> dict[str, object]:
    floor = catalog.driver_floor(row, choice)
    return {
        "id": choice.system.id,
        "kind": choice.system.kind.value,
        "image": choice.system.image or None,
        "digest": choice.system.digest or None,
        "suite": choice.system.suite or None,
        "status": choice.system.status,
        "glibc": str(choice.system.glibc),
        "python": {"version": str(choice.python), "provider": choice.python_provider.value},
        "cuda": {
            "provider": choice.cuda_provider.value,
            "version": str(choice.cuda) if choice.cuda else None,
            "cudnn": str(choice.cudnn) if choice.cudnn else None,
            "driver": str(floor) if floor else None,
        },
        "links": [{"name": link.name, "target": link.target} for link in choice.links],
        "deviations": [
            {"what": each.what, "why": each.why, "sources": [source.text for source in each.sources]}
            for each in choice.deviations
        ],
    }

"""`envbuilder show ENV|LOCK|SPEC`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from envbuilder.catalog.archives import ArchiveUse, VendorArchive, single_source
from envbuilder.catalog.buildable import Inventory, on_base
from envbuilder.catalog.coverage import support
from envbuilder.catalog.cuda import CudaNeed, Linkage
from envbuilder.catalog.environments import BaseChoice, Catalog, Constraint, Environment
from envbuilder.catalog.selection import named
from envbuilder.cli.context import command_settings
from envbuilder.cli.output.buildable import buildable_line
from envbuilder.cli.output.printing import folded, heading, json_option, notice, print_json, section
from envbuilder.cli.output.show_files import lock_description, lock_lines, spec_document, spec_lines
from envbuilder.cli.output.show_json import document
from envbuilder.lock.layered_specs import spec_layers
from envbuilder.lock.lockfile import SPEC, read_lock
from envbuilder.wiring.catalogs import known_catalog
from envbuilder.wiring.inventory import inventory
from envbuilder.wiring.spec_catalogs import catalog_of_spec

_GRADE_WIDTH = 11
"""Columns of a grade; an environment with a longer one has a wider column."""


@click.command("show")
@click.argument("environment", metavar="ENV|LOCK|SPEC")
@json_option
def command(environment: str, *, as_json: bool) -> None:
    """Show one environment: every pin and the reason for it.

    For a lock, show the image that it describes; for a spec (*.yaml), its values and the files that they come from.
    """
    path = Path(environment)
    if path.is_file() and path.suffix == SPEC.suffix:
        _show_spec(path, as_json=as_json)
        return
    if path.is_file():
        lock = read_lock(path)
        if as_json:
            print_json(lock_description(path, lock))
        else:
            click.echo("\n".join(line and folded(line) for line in lock_lines(path, lock)))
        return
    here = command_settings()
    catalog = known_catalog(here, progress=notice)
    row = named(catalog, environment)
    available = inventory(here, catalog)
    if as_json:
        print_json({"schema": 1, **document(catalog, row, available)})
        return
    click.echo("\n".join(line and folded(line) for line in _lines(catalog, row, available)))


def _show_spec(path: Path, *, as_json: bool) -> None:
    catalog = catalog_of_spec(command_settings(), path, notice)
    layers = spec_layers(path, catalog.teams)
    if as_json:
        print_json(spec_document(layers, catalog))
    else:
        click.echo("\n".join(spec_lines(layers, catalog)))


def _lines(catalog: Catalog, row: Environment, available: Inventory) -> Iterator[str]:
    yield f"{heading(row.id)}  {row.summary}"
    if team := catalog.origin(row.id):
        yield f"  from the catalog {team}"
    bases = [
        line
        for place, choice in enumerate(row.bases, start=1)
        for line in (
            *_base_lines(catalog, row, place, choice),
            f"     {buildable_line(on_base(row, choice, available))}",
        )
    ]
    width = max(_GRADE_WIDTH, *(len(entry.grade.value) for entry in (*row.evidence, *row.unproven)))
    for title, lines in (
        ("TensorFlow", _framework_lines(row)),
        ("CUDA", _cuda_lines(catalog, row, row.cuda) if row.cuda else ()),
        (f"Packages as of {row.cutoff}", _package_lines(catalog, row)),
        ("Known traps", _trap_lines(row)),
        ("Bases, in order of preference", bases),
        ("Known to work", [f"  {entry.grade.value:<{width}} {entry.when}  {entry}" for entry in row.evidence]),
        (
            "Failed proofs",
            [f"  {entry.grade.value:<{width}} {entry.when}  {entry.why}" for entry in row.unproven],
        ),
        ("Sources", [f"  {source.text}" for source in (*row.framework.sources, *row.sources)]),
    ):
        yield from section(title, lines)


def _framework_lines(row: Environment) -> Iterator[str]:
    yield f"  {row.framework.package}=={row.framework.version}, for Python {_joined(row.pythons)}"
    avx = ", and a processor with AVX" if row.framework.needs_avx else ""
    yield f"  needs glibc {row.framework.glibc} and GLIBCXX {row.framework.glibcxx} or later{avx}"
    for other in row.framework.others:
        trap = f"; {other.advisory.title} [{other.advisory.id}]" if other.advisory else ""
        yield f"  other release: {other.package}=={other.version}, for Python {_joined(other.pythons)}{trap}"


def _package_lines(catalog: Catalog, row: Environment) -> Iterator[str]:
    team = catalog.origin(row.id)
    has_lock = team is None or (team.place.folder / "locks" / f"{row.id}.yaml").is_file()
    pinned = "pinned by the bundled lock" if has_lock else "`envbuilder lock` pins them: the catalog has no lock"
    yield f"  the newest compatible files uploaded by then; {pinned}"
    yield from _constraint_lines(row.constraints, "bound")
    yield from _constraint_lines(row.additions, "added")
    if row.source_builds:
        yield f"  built from source (no wheels available): {', '.join(row.source_builds)}"


def _trap_lines(row: Environment) -> Iterator[str]:
    for advisory in row.advisories:
        yield f"  {advisory.title}: {advisory.reason}"
        yield f"      remedy: {advisory.remedy}"
        yield f"      [{advisory.id}; {'; '.join(source.text for source in advisory.sources)}]"


def _cuda_lines(catalog: Catalog, row: Environment, cuda: CudaNeed) -> Iterator[str]:
    yield f"  compiled with CUDA {cuda.compiled}, starts with {cuda.cudnn.rule.describe(cuda.cudnn.compiled)}"
    yield f"  driver {catalog.driver_floor(row, row.bases[0])} or later"
    when = (
        "loaded with TensorFlow; import fails without them" if cuda.linkage is Linkage.NEEDED else "opened at run time"
    )
    yield f"  libraries ({when}): {', '.join(cuda.sonames)}"
    yield f"  GPUs, on {row.bases[0].system.id} (the reasons: `envbuilder list {row.id} --gpus`):"
    for gpu in support(catalog.cuda, row, row.bases[0]):
        architecture = gpu.architecture
        doubt = ", not proven" if gpu.doubts else ""
        yield f"    {architecture.capability!s:<5} {gpu.coverage.value + doubt:<25} {', '.join(architecture.gpus)}"


def _constraint_lines(constraints: tuple[Constraint, ...], word: str) -> Iterator[str]:
    for constraint in constraints:
        yield f"  {word} {constraint.requirement}"
        yield f"      {constraint.advisory.title}: {constraint.advisory.reason}"
        yield f"      [{constraint.advisory.id}; {'; '.join(source.text for source in constraint.advisory.sources)}]"


def _base_lines(catalog: Catalog, row: Environment, place: int, choice: BaseChoice) -> Iterator[str]:
    system = choice.system
    where = (
        f"{system.image}{'@' + system.digest if system.digest else ''}"
        if system.image
        else f"{system.kind.value.capitalize()} {system.suite}"
    )
    yield f"  {place}. {system.id}: {where}"
    yield f"     {system.publication}"
    yield f"     Python {choice.python} from {choice.python_provider.value}, glibc {system.glibc}"
    if choice.cuda:
        floor = catalog.driver_floor(row, choice)
        libraries = f"CUDA {choice.cuda}, cuDNN {choice.cudnn}"
        yield f"     {libraries} from {choice.cuda_provider.value}; driver {floor} or later"
    if choice.source_builds:
        yield f"     built from source (no wheels for Python {choice.python}): {', '.join(choice.source_builds)}"
    for use in choice.libraries.archives if choice.libraries else ():
        yield f"     {_archive_line(catalog, use)}"
    for deviation in choice.deviations:
        yield f"     deviation: {deviation.what}"
        yield f"                {deviation.why}"


def _archive_line(catalog: Catalog, use: ArchiveUse) -> str:
    archive = use.archive
    publisher = catalog.archives.publisher(archive.publisher)
    title = publisher.title if publisher else archive.publisher
    trust = f"advisory: {single_source(archive)}" if archive.is_unconfirmed else _confirmed(archive)
    page = f"; license: {publisher.eula}" if publisher and publisher.eula else ""
    return f"{_joined(use.sonames)} out of {archive.id} from {title}; {trust}{page}"


def _confirmed(archive: VendorArchive) -> str:
    return f"its sha256 has {archive.agreeing} sources" if archive.agreeing > 1 else "its sha256 was measured"


def _joined(values: tuple[object, ...]) -> str:
    return ", ".join(str(value) for value in values)

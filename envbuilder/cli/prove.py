"""`envbuilder catalog prove [GLOB]`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.evidence import Grade
from envbuilder.catalog.selection import find, matching
from envbuilder.cli.context import command_settings
from envbuilder.cli.documents import maintenance as documents
from envbuilder.cli.documents.environments import ShownEvidence
from envbuilder.cli.fan_out import FanOutCommand, FanOutRequest, fan_out_options, run_elsewhere, sent_arguments
from envbuilder.cli.options import source_options
from envbuilder.cli.output.fan_out import ProofOutput
from envbuilder.cli.output.printing import folded, json_option, notice, print_json
from envbuilder.cli.output.progress import watched
from envbuilder.cli.output.terminal import say_result
from envbuilder.cli.prove_archives import ARCHIVE, prove_archives
from envbuilder.cluster.execution.executor import Done
from envbuilder.cluster.execution.finished_items import NoResults
from envbuilder.cluster.execution.targets import ExecutionTarget
from envbuilder.core.errors import UsageError
from envbuilder.core.structure import document_of
from envbuilder.curation.prove import Proven, prove, recorded_proof
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.wiring.catalogs import known_catalog
from envbuilder.wiring.execution import files_for, place_of, record_files, work_item
from envbuilder.wiring.proof import ProofAdapters
from envbuilder.wiring.recording import records_of
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import Settings
from envbuilder.wiring.shipped_packages import closures

_TIERS = [Grade.RESOLVED.value, Grade.CPU.value, Grade.IMAGE.value, Grade.GPU.value, ARCHIVE]
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command("prove", cls=FanOutCommand)
@click.argument("pattern", metavar="[GLOB]", default="*")
@click.option(
    "--tier",
    type=click.Choice(_TIERS),
    default=Grade.CPU.value,
    show_default=True,
    help="resolved: resolve the packages. cpu: run them in a virtual environment on this host. image, gpu: build and "
    "validate the image. archive: fetch and open the vendor archives, and compare their libraries with the catalog.",
)
@click.option(
    "--pythons", metavar="DIR", multiple=True, type=_FOLDER, help="Directory of interpreters, searched before PATH."
)
@click.option(
    "--stand-ins",
    is_flag=True,
    help="With --tier image: replace libraries of vendor archives that are not in the cache by compiled stand-ins; the "
    "evidence names them.",
)
@click.option("--relock", is_flag=True, help="Resolve the bundled locks again.")
@fan_out_options(again="Include environments whose evidence is still valid.")
@source_options
@json_option
def command(  # noqa: PLR0913  one parameter for each option
    pattern: str,
    tier: str,
    pythons: tuple[Path, ...],
    sources: Sources,
    elsewhere: FanOutRequest,
    *,
    stand_ins: bool,
    relock: bool,
    as_json: bool,
) -> None:
    """Lock, install and run the environments that match GLOB, and record the results in the catalog.

    Results are recorded one by one; after an interruption, run the command again to continue. Exit status 1 if an
    environment could not be proven.
    """
    here = command_settings()
    catalog = known_catalog(here, progress=notice)
    rows = matching(catalog, pattern)
    if elsewhere.on and tier == ARCHIVE:
        raise UsageError(
            f"--tier {ARCHIVE} cannot be combined with --on: environments share their archives", hint="omit --on"
        )
    if elsewhere.on:
        grade = _grade(tier, stand_ins=stand_ins)
        _prove_elsewhere(
            here, catalog, rows, grade, elsewhere.on, again=elsewhere.again, relock=relock, as_json=as_json
        )
        return
    if tier == ARCHIVE:
        prove_archives(here, catalog, rows, sources, as_json=as_json)
        return
    grade = _grade(tier, stand_ins=stand_ins)
    proven: list[Proven] = []
    with watched(Session(here, catalog, notice), f"prove-{tier}") as (session, _):
        proving = ProofAdapters(session, sources, pythons)
        try:
            for number, row in enumerate(rows, start=1):
                # Read again: a run takes long, and another one may have recorded something meanwhile.
                current = find(known_catalog(here), row.id)
                ports = proving.ports(catalog.origin(row.id))
                outcome = prove(current, grade, ports, again=elsewhere.again, relock=relock)
                proven.append(outcome)
                if not as_json:
                    _print_outcome(outcome, grade, f"{number}/{len(rows)}")
        finally:
            proving.environments.clear()
    if as_json:
        print_json({"schema": 1, "tier": grade.value, "environments": [_document(each) for each in proven]})
    if any(each.reached is None for each in proven):
        raise click.exceptions.Exit(1)


def _prove_elsewhere(  # noqa: PLR0913  one parameter for each part of a call
    here: Settings,
    catalog: Catalog,
    rows: tuple[Environment, ...],
    grade: Grade,
    on: ExecutionTarget,
    *,
    again: bool,
    relock: bool,
    as_json: bool,
) -> None:
    """Prove rows without valid evidence elsewhere, and record what comes back."""
    records = {row.id: records_of(here, catalog.origin(row.id)) for row in rows}
    known = {} if again or relock else {row.id: recorded_proof(row, grade, closures(here, catalog)) for row in rows}
    before = {
        name: {"schema": 1, "tier": grade.value, "environments": [_document(proven)]}
        for name, proven in known.items()
        if proven
    }
    for proven in filter(None, known.values()):
        if not as_json:
            _print_outcome(proven, grade, "-")
    sent = {row.id: files_for(here, row.id) for row in rows if row.id not in before}
    always = ("--json", "--again") if again else ("--json",)
    items = [work_item(here, name, sent_arguments(name, always=always), files) for name, files in sent.items()]

    def receive(done: Done) -> None:
        record_files(records[done.name], done.name, sent[done.name], done, place_of(here, catalog, done.name))

    run_elsewhere(
        here,
        on,
        items,
        ProofOutput(),
        as_json=as_json,
        # Evidence says what is finished.
        finished=NoResults(),
        receive=receive,
        before=before,
        order=[row.id for row in rows],
    )


def _grade(tier: str, *, stand_ins: bool) -> Grade:
    """Return the grade to prove.

    Raises:
        UsageError: Stand-ins were requested for a tier that builds no image, or that needs the real libraries.
    """
    if not stand_ins:
        return Grade(tier)
    if tier != Grade.IMAGE.value:
        raise UsageError(
            f"--stand-ins cannot be combined with --tier {tier}: only the image tier uses them",
            hint="envbuilder catalog prove GLOB --tier image --stand-ins",
        )
    return Grade.IMAGE_WITH_STAND_INS


def _print_outcome(outcome: Proven, grade: Grade, place: str) -> None:
    row = outcome.row
    if outcome.reached is None:
        say_result(f"{place} {row.id}: not proven")
        for entry in row.unproven:
            if entry.grade is grade or entry.grade is Grade.RESOLVED:
                say_result(folded(f"  {entry.grade.value}: {entry.why}"))
        return
    seen = next(entry for entry in reversed(row.evidence) if entry.grade is outcome.reached)
    note = "" if outcome.again else ", as recorded before"
    say_result(folded(f"{place} {row.id}: {outcome.reached.value}{note}: {seen}"))


def _document(outcome: Proven) -> dict[str, Any]:
    row = outcome.row
    return document_of(
        documents.ProvenEnvironment,
        row,
        proven=outcome.reached is not None,
        ran=outcome.again,
        evidence=[
            document_of(ShownEvidence, entry, what=entry)
            for entry in row.evidence
            if entry.grade.rank >= Grade.RESOLVED.rank
        ],
    )

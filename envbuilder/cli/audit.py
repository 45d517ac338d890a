"""`envbuilder catalog audit ENV|WHEEL`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click
from packaging.version import Version

from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.catalog.selection import matching
from envbuilder.cli.context import command_settings
from envbuilder.cli.fan_out import FanOutCommand, FanOutRequest, fan_out_options, run_elsewhere, sent_arguments
from envbuilder.cli.options import ParsedValue, source_options
from envbuilder.cli.output.fan_out import AuditOutput
from envbuilder.cli.output.printing import folded, heading, json_option, notice, print_json, table
from envbuilder.cli.wheel_measurements import WheelMeasurements
from envbuilder.cluster.execution.executor import Done
from envbuilder.cluster.execution.targets import ExecutionTarget
from envbuilder.core.errors import UsageError
from envbuilder.core.names import pep440
from envbuilder.core.references import normalized
from envbuilder.core.versions import Release
from envbuilder.curation.audit import MeasuredWheels, audit_release, audit_row, compared, record_audit
from envbuilder.curation.wheel_audit.audited_wheel import Audit
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.wiring.execution import files_for, record_files, work_item
from envbuilder.wiring.recording import records_of
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import Settings

_TOO_LONG = ("libraries", "elf_needed_main")
"""Fields that are too long for a table."""

_RELEASE = re.compile(r"([A-Za-z0-9._-]+)==([^=]+)")


@click.command("audit", cls=FanOutCommand)
@click.argument("target", metavar="ENV|WHEEL")
@click.option("--write", is_flag=True, help="Write the measurements to the catalog; add a new release.")
@click.option(
    "--python",
    type=ParsedValue("version", Release),
    metavar="X.Y",
    help="Python version of the wheel. Default: that of the environment, else the newest one.",
)
@fan_out_options()
@source_options
@json_option
def command(  # noqa: PLR0913  one parameter for each option
    target: str,
    python: Release | None,
    sources: Sources,
    elsewhere: FanOutRequest,
    *,
    write: bool,
    as_json: bool,
) -> None:
    """Measure a TensorFlow wheel and compare it with its environment. Exit status 1 if they differ.

    ENV is the id of an environment, or a GLOB; WHEEL is `package==version` on the index, or the path of a .whl file. No
    code of the wheel is executed and no CUDA tools are needed. Downloads are removed afterwards.
    """
    here = command_settings()
    catalog = load_catalog(here.matrices)
    if elsewhere.on:
        _audit_elsewhere(here, catalog, target, elsewhere.on, again=elsewhere.again, write=write, as_json=as_json)
        return
    session = Session(here, catalog, notice)
    wheels = WheelMeasurements(session=session, sources=sources)
    records = records_of(here) if write else None
    audits: list[Audit] = []
    for audit in _audits(catalog, target, python, wheels):
        audits.append(audit)
        if not as_json:
            _print_audit(audit)
        if records:
            row = record_audit(load_catalog(here.matrices), audit, wheels, records, datetime.now(tz=UTC).date())
            session.progress(f"wrote {row}; review the diff, then `envbuilder catalog prove {row}`")
    if as_json:
        print_json({"schema": 1, "wheels": [_document(audit) for audit in audits]})
    elif len(audits) > 1:
        differing = [audit.row for audit in audits if not audit.agrees]
        click.echo(
            f"{len(audits)} wheels, {len(differing)} differ from their rows{': ' if differing else ''}"
            + ", ".join(differing)
        )
    if not write and not all(audit.agrees for audit in audits):
        raise click.exceptions.Exit(1)


def _audit_elsewhere(  # noqa: PLR0913  one parameter for each part of a call
    here: Settings, catalog: Catalog, target: str, on: ExecutionTarget, *, again: bool, write: bool, as_json: bool
) -> None:
    """Measure the wheels of environments elsewhere, and record what comes back.

    Raises:
        UsageError: A wheel is named, and not environments.
    """
    if target.endswith(".whl") or _RELEASE.fullmatch(target):
        raise UsageError(
            f"--on requires environments, not {target}", hint="specify the id of an environment, or a GLOB"
        )
    records = records_of(here) if write else None
    sent = {row.id: files_for(here, row.id) for row in matching(catalog, target)}

    def receive(done: Done) -> None:
        if records:
            record_files(records, done.name, sent[done.name], done)

    items = [work_item(here, name, sent_arguments(name), files) for name, files in sent.items()]
    run_elsewhere(here, on, items, AuditOutput(), as_json=as_json, again=again, receive=receive)


def _audits(catalog: Catalog, target: str, python: Release | None, wheels: MeasuredWheels) -> Iterator[Audit]:
    path = Path(target)
    named = _RELEASE.fullmatch(target)
    if target.endswith(".whl"):
        if not path.is_file():
            raise UsageError(
                f"wheel not found: {target}", hint="specify a .whl file, `package==version`, or an environment"
            )
        yield compared(catalog, wheels.of_host(path))
    elif named:
        yield audit_release(catalog, normalized(named[1]), _version(named[2]), wheels, python=python)
    else:
        for row in matching(catalog, target):
            yield audit_row(catalog, row, wheels, python=python)


def _version(text: str) -> Version:
    try:
        return pep440(text)
    except ValueError as error:
        raise UsageError(str(error), hint="use PACKAGE==VERSION, such as tensorflow-gpu==2.4.1") from None


def _print_audit(audit: Audit) -> None:
    wheel = audit.wheel
    click.echo(heading(audit.row or "no environment for this release"))
    if audit.listed_under:
        note = f"  lists {wheel.version} as another release; what it says was measured on {audit.listed_under}"
        click.echo(folded(note))
    click.echo(f"  {wheel.file}")
    click.echo(f"  sha256 {wheel.sha256}")
    click.echo("")
    if audit.comparisons:
        lines = [
            ("" if each.agrees else "differs", each.field, _short(each.claimed), _short(each.measured))
            for each in audit.comparisons
        ]
        click.echo(table(("", "FIELD", "ROW SAYS", "WHEEL SAYS"), lines))
        for each in audit.comparisons:
            if not each.agrees:
                click.echo(folded(f"  {each.field}: the catalog has {each.claimed}; the wheel has {each.measured}"))
    else:
        for name, value in wheel.record.items():
            if name not in _TOO_LONG:
                click.echo(folded(f"  {name}: {_plain(value)}"))
        click.echo("  details for each library: --json")
    click.echo("")


def _short(text: str) -> str:
    """Return a value that fits into a column; a longer one is shown in full if it differs."""
    return text if len(text) <= 44 else f"{text[:41]}..."


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name} {_plain(each)}" for name, each in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value)) or "none"
    return "none" if value is None else str(value)


def _document(audit: Audit) -> dict[str, object]:
    return {
        "row": audit.row or None,
        "listed_under": str(audit.listed_under) if audit.listed_under else None,
        "agrees": audit.agrees,
        "differences": [
            {"field": each.field, "claimed": each.claimed, "measured": each.measured}
            for each in audit.comparisons
            if not each.agrees
        ],
        **audit.wheel.record,
    }

"""`envbuilder lock [SPEC]`."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import click

from envbuilder.catalog.environments import Catalog
from envbuilder.cli.context import command_settings
from envbuilder.cli.options import cache_from_option, grouped, host_builds_option, source_options
from envbuilder.cli.output.lock_changes import change_document, lock_document, print_changes
from envbuilder.cli.output.printing import folded, json_option, notice, print_json
from envbuilder.cli.output.progress import watched
from envbuilder.core.errors import NoUsableBase, UsageError
from envbuilder.core.files import write_text
from envbuilder.image.pinned_files import keep_own_files
from envbuilder.lock.diff import compare
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import LOCK, SPEC, digest, dump, missing_lock, read_lock, replaced_lock
from envbuilder.lock.spec import Spec, with_sources
from envbuilder.lock.staleness import out_of_date, staleness
from envbuilder.lock.targets import load_spec
from envbuilder.wiring.image_digests import with_image
from envbuilder.wiring.locks import locked, unpinned_lock
from envbuilder.wiring.session import Session
from envbuilder.wiring.spec_catalogs import catalog_of_spec
from envbuilder.wiring.trust import remember_own_lock, report_spec_trust


def _day(*, upgrade: bool, as_of: str | None) -> date | None:
    if not upgrade:
        if as_of is not None:
            raise UsageError("--as-of requires --upgrade", hint="envbuilder lock --upgrade --as-of DAY")
        return None
    today = datetime.now(tz=UTC).date()
    try:
        day = today if as_of is None else date.fromisoformat(as_of)
    except ValueError:
        raise UsageError(f"{as_of!r} is not a date", hint="use the form YYYY-MM-DD, such as 2026-06-01") from None
    if day > today:
        raise UsageError(
            f"{day} is in the future: the lock would not be reproducible", hint="use today or an earlier date"
        )
    return day


@click.command("lock")
@click.argument("file", metavar="[SPEC]", type=click.Path(path_type=Path), default=SPEC)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="File to write. Default: name of the spec with .lock."
)
@click.option("--check", "only_check", is_flag=True, help="Check whether the lock is up to date; exit status 1 if not.")
@grouped(
    "upgrade",
    _day,
    click.option(
        "--upgrade",
        is_flag=True,
        help="Update the packages of the environment to the newest allowed versions, as of today or --as-of.",
    ),
    click.option("--as-of", metavar="DAY", help="With --upgrade: ignore files uploaded after DAY."),
)
@click.option("--no-image", is_flag=True, help="Omit the digests of the image; fetch metadata only.")
@cache_from_option
@host_builds_option
@source_options
@json_option
def command(  # noqa: PLR0913  one parameter for each option
    file: Path,
    output: Path | None,
    upgrade: date | None,
    cache_from: tuple[str, ...],
    sources: Sources,
    *,
    only_check: bool,
    no_image: bool,
    as_json: bool,
) -> None:
    """Resolve SPEC, a file or the directory of an envbuilder.yaml, to exact files with hashes.

    The packages of the environment come from its bundled lock, so that all users get the same versions; --upgrade
    updates them. The lock contains the digests of the image. To compute digests that are not yet known, files are
    downloaded and kept for the build. With --no-image, a lock is written even if no base is available; it lists what it
    does not pin and cannot be built. It never replaces a complete lock.
    """
    here = command_settings()
    file = file / SPEC if file.is_dir() else file
    catalog = catalog_of_spec(here, file, notice)
    spec = with_sources(load_spec(file, catalog), replace(sources, layer_caches=cache_from))
    target = output or file.with_suffix(".lock")
    if only_check:
        if upgrade:
            raise UsageError("--check cannot be combined with --upgrade", hint="use one of them")
        _check(catalog, spec, file, target, as_json=as_json)
        return
    with watched(Session(here, catalog, notice), "lock") as (session, _):
        report_spec_trust(session, spec)
        before = replaced_lock(target, session.progress)
        unpinned = no_image and (before is None or bool(before.unpinned))
        made = _made(session, spec, upgrade, before, unpinned=unpinned)
        keep_own_files(spec.files, session.store)
        if not no_image:
            made = with_image(session, made, spec.sources, before)
    write_text(target, dump(made))
    if not made.unpinned:
        remember_own_lock(session, made, Sources())
    _print_lock(made, before, target, as_json=as_json)


def _made(session: Session, spec: Spec, day: date | None, before: Lock | None, *, unpinned: bool) -> Lock:
    """Lock a spec; if no base is available and `unpinned` is set, without pinning it."""
    try:
        return locked(session, spec, upgrade=day, before=before)
    except NoUsableBase as error:
        if not unpinned:
            raise
        session.progress(error.message)
        return unpinned_lock(session, spec, upgrade=day)


def _again(file: Path) -> str:
    """Return the command that locks a spec."""
    return "`envbuilder lock`" if file == SPEC else f"`envbuilder lock {file}`"


def _check(catalog: Catalog, spec: Spec, file: Path, target: Path, *, as_json: bool) -> None:
    if not target.is_file():
        raise missing_lock(target, hint=_again(file))
    changes = staleness(catalog, spec, read_lock(target))
    if as_json:
        document = [change_document(change) for change in changes]
        print_json({"schema": 1, "lock": str(target), "stale": bool(changes), "changes": document})
    elif changes:
        click.echo(out_of_date(target))
        print_changes(changes)
        click.echo(f"next: {_again(file)}")
    else:
        click.echo(f"{target} is up to date")
    if changes:
        raise click.exceptions.Exit(1)


def _print_lock(made: Lock, before: Lock | None, target: Path, *, as_json: bool) -> None:
    changes = compare(before, made) if before else ()
    if as_json:
        document = [change_document(change) for change in changes]
        print_json({"schema": 1, **lock_document(target, made), "changes": document})
        return
    click.echo(f"wrote {target}: {len(made.packages)} packages on {made.base.id}, {digest(made)[:19]}")
    if made.image:
        click.echo(f"image {made.image.manifest}")
    if made.unpinned:
        click.echo(folded(f"cannot be built: not pinned: {'; '.join(made.unpinned)}"))
    print_changes(changes)
    for deviation in made.differences:
        click.echo(folded(f"deviation: {deviation}"))
    if not made.unpinned:
        click.echo(folded(f"next: `envbuilder build{'' if target == LOCK else f' {target}'}`"))

"""`envbuilder adopt PATH|GIT-ADDRESS`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import NoReturn

import click

from envbuilder.catalog.advise.advice import Query
from envbuilder.catalog.load.api_names import load_api
from envbuilder.catalog.selection import find
from envbuilder.cli.context import command_settings
from envbuilder.cli.options import driver_option, gpu_option, grouped, host_option, source_options
from envbuilder.cli.output.adoption import adoption_document, adoption_text, left_out, notes
from envbuilder.cli.output.failures import failure_document
from envbuilder.cli.output.lock_changes import lock_document
from envbuilder.cli.output.printing import json_option, notice, print_json, width
from envbuilder.cli.output.progress import watched
from envbuilder.core.errors import EnvbuilderError, NoUsableBase, UsageError
from envbuilder.core.files import write_text
from envbuilder.core.uv_process import TIME_LIMIT
from envbuilder.core.work_directories import work_directory
from envbuilder.image.dockerfile.spec_file import render_spec
from envbuilder.image.pinned_files import keep_own_files
from envbuilder.lock.adopt import choose_environment, newest_tried, requested_versions, software_changes, spec_of
from envbuilder.lock.adopted_packages import Trials, resolvable
from envbuilder.lock.adoption import Adoption
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock, OwnFile
from envbuilder.lock.lockfile import LOCK, SPEC, digest, dump
from envbuilder.lock.project.clues import UnusedLine
from envbuilder.lock.project.conclusions import Conclusions, conclude
from envbuilder.lock.project.own_sources import own_files
from envbuilder.lock.project.reading import project_files, read_project
from envbuilder.lock.spec import Spec, with_sources
from envbuilder.lock.targets import load_spec
from envbuilder.wiring.catalogs import known_catalog
from envbuilder.wiring.git_checkouts import clone, folder_of, is_address, last_change
from envbuilder.wiring.locks import locked, unpinned_lock
from envbuilder.wiring.machines import machines
from envbuilder.wiring.other_pythons import examined_pythons
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import Settings
from envbuilder.wiring.trust import remember_own_lock

_SOURCE_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class _Machine:
    gpus: tuple[str, ...]
    driver: str | None
    hosts: tuple[Path, ...]
    cpu: bool
    tensorflow: str | None
    python: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What the command line asks for.

    Attributes:
        machine: The machines that must run the project, and the versions to use instead of the project's.
        beside: Directory of the spec; own files are below it.
    """

    machine: _Machine
    sources: Sources
    beside: Path
    source_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    output: Path | None
    dry_run: bool
    no_lock: bool


_machine_options = grouped(
    "machine",
    _Machine,
    gpu_option,
    driver_option,
    host_option,
    click.option("--cpu", is_flag=True, help="Choose a CPU environment."),
    click.option(
        "--tensorflow", metavar="SPEC", help="TensorFlow to use instead of that of the project: 1.15, '>=2.4,<2.6'."
    ),
    click.option("--python", metavar="X.Y", help="Python version to use instead of that of the project."),
)
_written_options = grouped(
    "written",
    _Written,
    click.option(
        "-o", "--output", type=click.Path(path_type=Path), help="File to write. Default: PATH/envbuilder.yaml."
    ),
    click.option("--dry-run", is_flag=True, help="Write nothing."),
    click.option("--no-lock", is_flag=True, help="Write the spec only, not its lock."),
)


@click.command("adopt")
@click.argument("project", metavar="PATH|GIT-ADDRESS")
@_machine_options
@_written_options
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Directory for the clone of GIT-ADDRESS. Default: as `git clone` names it.",
)
@click.option(
    "--source-limit",
    type=click.IntRange(min=0),
    metavar="SECONDS",
    default=_SOURCE_SECONDS,
    show_default=True,
    help="Time for trying packages that only have source distributions, in all.",
)
@source_options
@json_option
def command(  # noqa: PLR0913  one parameter for each option
    project: str,
    machine: _Machine,
    written: _Written,
    into: Path | None,
    sources: Sources,
    *,
    source_limit: int,
    as_json: bool,
) -> None:
    """Write an envbuilder.yaml and its lock for an existing project.

    Reads requirements, metadata, Dockerfiles, notebooks and sources without running them, chooses the environment that
    fits, resolves the packages, and reports what had to change and why. Never overwrites a file. Exit status 1 if no
    environment fits.

    A git repository is cloned first, by the program git.
    """
    folder = _folder(project, into)
    target = written.output or folder / SPEC
    lock_file = None if written.no_lock else target.with_suffix(LOCK.suffix)
    if not written.dry_run:
        _refuse_existing(target, lock_file)
    here = command_settings()
    session = Session(here, known_catalog(here, progress=notice), lambda _: None)
    with _checkout(here, project, folder, is_temporary=written.dry_run) as checkout:
        beside = checkout if folder.resolve() == target.parent.resolve() else target.parent
        wanted = _Wanted(machine=machine, sources=sources, beside=beside, source_seconds=source_limit)
        adoption = _adopted(session, checkout, wanted)
    if not as_json:
        click.echo(adoption_text(adoption, width()))
    if adoption.spec and not written.dry_run:
        _write(session, adoption, folder, target, lock_file, as_json=as_json)
    elif as_json:
        print_json(adoption_document(adoption, None, None))
    if adoption.spec is None:
        raise click.exceptions.Exit(1)


def _folder(project: str, into: Path | None) -> Path:
    """Return the directory of a project, which need not exist if it is cloned."""
    if is_address(project):
        return into or folder_of(project)
    if into:
        raise UsageError(f"--into is for the address of a git repository, not for {project}", hint="omit --into")
    return Path(project)


@contextmanager
def _checkout(here: Settings, project: str, folder: Path, *, is_temporary: bool) -> Iterator[Path]:
    """Yield the directory with the files of a project: cloned if it is the address of a repository."""
    if not is_address(project):
        yield folder
    elif is_temporary:
        with work_directory("checkout") as work:
            notice("cloning into a temporary directory")
            clone(project, work / folder.name, here.environ)
            yield work / folder.name
    else:
        notice(f"cloning into {folder}")
        clone(project, folder, here.environ)
        yield folder


def _refuse_existing(*files: Path | None) -> None:
    for path in filter(None, files):
        if path.exists():
            raise UsageError(f"{path} already exists", hint="choose another file with -o, or use --dry-run")


def _write(  # noqa: PLR0913  the command in two halves
    session: Session, adoption: Adoption, folder: Path, target: Path, lock_file: Path | None, *, as_json: bool
) -> None:
    """Write the spec, and its lock if a file for it is given."""
    if adoption.spec is None:
        return
    row = find(session.catalog, adoption.spec.environment)
    templates = session.settings.templates
    write_text(target, render_spec(row, templates, adoption.spec, notes(adoption), left_out(adoption)))
    if not as_json:
        click.echo(f"\nwrote {target}")
    try:
        made = _locked(session, target, adoption.spec.sources, lock_file) if lock_file else None
    except NoUsableBase as error:
        # A second `adopt` would be refused: the spec exists.
        error.hint = error.hint.replace("this command again", f"`{_lock_command(target)}`")
        # The environment that can be built instead has neither the packages of the project nor its TensorFlow.
        error.hint = error.hint.rpartition(f"for {adoption.spec.environment} itself: ")[2]
        if row and row.cuda:
            error.hint = f"`envbuilder adopt {folder} --cpu -o {folder / 'cpu.yaml'}` for a processor; {error.hint}"
        _end_without_lock(adoption, target, error, as_json=as_json)
    except EnvbuilderError as error:
        _end_without_lock(adoption, target, error, as_json=as_json)
    if as_json:
        lock = lock_document(lock_file, made) if lock_file and made else None
        print_json(adoption_document(adoption, target, lock))
    elif made:
        click.echo(f"wrote {lock_file}: {len(made.packages)} packages on {made.base.id}, {digest(made)[:19]}")
        click.echo(f"next: `envbuilder build {lock_file}`")
    else:
        click.echo(f"next: `{_lock_command(target)}`")


def _lock_command(target: Path) -> str:
    return f"envbuilder lock{'' if target == Path(SPEC) else f' {target}'}"


def _end_without_lock(adoption: Adoption, target: Path, error: EnvbuilderError, *, as_json: bool) -> NoReturn:
    """End with the error of the lock, which the document has too: the spec was written."""
    if as_json:
        print_json(adoption_document(adoption, target, None, failure_document(error)))
    raise error


def _adopted(session: Session, folder: Path, wanted: _Wanted) -> Adoption:
    """Return what is concluded from a project, with a spec that can be resolved if an environment fits."""
    catalog, machine = session.catalog, wanted.machine
    asked = requested_versions(machine.tensorflow, machine.python)
    reading = read_project(project_files(folder))
    found = conclude(reading, load_api(session.settings.matrices), asked)
    query = Query(hosts=machines(catalog, machine.driver, machine.gpus, machine.hosts), cpu=machine.cpu)
    day = last_change(folder)
    choice = choose_environment(catalog, found, query, newest_tried(catalog, found, day))
    if not choice.advice:
        return Adoption(files=reading.files, last_change=day, found=found, choice=choice)
    files, not_copied = (
        own_files(folder, found.copies) if folder.resolve() == wanted.beside.resolve() else _elsewhere(found)
    )
    complete = with_sources(spec_of(catalog, found, choice.advice, day, files), wanted.sources)
    trials = Trials(resolve=partial(_resolve, session), source_seconds=wanted.source_seconds, clock=monotonic)
    spec, changes = resolvable(complete, trials)
    adoption = Adoption(
        files=reading.files,
        last_change=day,
        found=found,
        choice=choice,
        spec=spec,
        changes=(*software_changes(catalog, found, choice.advice), *changes),
        not_copied=not_copied,
    )
    reporting = replace(session, progress=notice)
    return replace(adoption, other_python=examined_pythons(reporting, adoption, query, spec.sources))


def _elsewhere(found: Conclusions) -> tuple[tuple[OwnFile, ...], tuple[UnusedLine, ...]]:
    """Return no own files: those of a spec are below its directory."""
    reason = "the spec is not in the directory of the project"
    return (), tuple(UnusedLine(line=clue.line, reason=reason) for clue in found.copies)


def _resolve(session: Session, spec: Spec, *, seconds: float | None = None) -> None:
    built = f", {', '.join(spec.source_builds)} from source" if spec.source_builds else ""
    limit = "" if seconds is None else f" (at most {seconds:.0f} s)"
    count = len(spec.packages)
    notice(f"resolving {count} package{'' if count == 1 else 's'} on {spec.environment}{built}{limit}")
    unpinned_lock(session, spec, seconds=TIME_LIMIT if seconds is None else seconds)


def _locked(session: Session, path: Path, sources: Sources, target: Path) -> Lock:
    """Write the lock of a spec, without the digests of its image; return it."""
    with watched(replace(session, progress=notice), "adopt") as (watching, _):
        spec = with_sources(load_spec(path, session.catalog), sources)
        made = locked(watching, spec)
        keep_own_files(spec.files, session.store)
    write_text(target, dump(made))
    remember_own_lock(session, made, Sources())
    return made

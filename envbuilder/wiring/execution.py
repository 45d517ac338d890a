"""Work on many environments, on this machine or on a cluster: the executor, and what is sent and received."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import assert_never

import envbuilder
from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.load.team_catalogs import deciding_files
from envbuilder.catalog.references import CatalogReference, DirectoryReference
from envbuilder.cluster.execution.dask_cluster import open_dask
from envbuilder.cluster.execution.executor import FILES, Done, Executor, WorkItem
from envbuilder.cluster.execution.finished_items import FinishedItems
from envbuilder.cluster.execution.local_processes import LocalExecutor
from envbuilder.cluster.execution.packed_files import pack_files, read_files
from envbuilder.cluster.execution.slurm_jobs import open_slurm
from envbuilder.cluster.execution.targets import DaskCluster, ExecutionTarget, LocalProcesses, SlurmJobs
from envbuilder.core.canonical_json import inputs_digest
from envbuilder.core.digests import digest_of
from envbuilder.core.errors import UsageError, VerificationFailed, without_logins
from envbuilder.curation.proof.catalog_files import CatalogFiles
from envbuilder.lock.publishers import relative_to
from envbuilder.wiring.catalogs import configured_catalogs
from envbuilder.wiring.configuration import (
    ACCEPT_NVIDIA_EULA,
    ALLOW_HOST_BUILDS,
    CATALOGS,
    DEBIAN_KEYRING,
    DEBIAN_MIRROR,
    INDEX,
    LAYER_CACHE,
    MATRICES,
    MIRROR,
    OPTIONS_SENT,
    PUBLISHERS,
    UBUNTU_KEYRING,
    UBUNTU_MIRROR,
    Given,
    Setting,
    SettingKind,
)
from envbuilder.wiring.settings import Settings

OWN = "matrices"
"""Directory of envbuilder's catalog among the files that are sent."""
_TEAMS = "teams"
_SENT = (
    *(MIRROR, LAYER_CACHE, PUBLISHERS, DEBIAN_MIRROR, DEBIAN_KEYRING, UBUNTU_MIRROR, UBUNTU_KEYRING),
    *(ACCEPT_NVIDIA_EULA, ALLOW_HOST_BUILDS),
)
"""Settings that decide what is built, beside catalogs and index."""
_REPORT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@contextmanager
def executor_of(target: ExecutionTarget, here: Settings, progress: Callable[[str], None]) -> Iterator[Executor]:
    """Yield the executor of a place; its files are removed when the block ends.

    Raises:
        ToolMissing: A library or a program is not installed.
    """
    match target:
        case LocalProcesses():
            yield LocalExecutor(target, progress)
        case SlurmJobs():
            with here.work_folder("fan-out") as folder:
                yield open_slurm(target, folder / "jobs", progress)
        case DaskCluster():
            yield open_dask(target, progress)
        case _:
            assert_never(target)


def finished_items(here: Settings) -> FinishedItems:
    """Return the results of incomplete calls, in the cache directory."""
    folder = here.use("fan-out")
    folder.mkdir(parents=True, exist_ok=True)
    return FinishedItems(folder=folder, clock=time.time)


def work_item(here: Settings, name: str, arguments: tuple[str, ...], sent: Mapping[str, str]) -> WorkItem:
    """Return a work item of this version of envbuilder, with the catalogs and settings of this host.

    `arguments` are the command line without the program, and `sent` the files of `files_for`.

    Raises:
        UsageError: A setting cannot be sent.
    """
    return WorkItem(
        name=name,
        arguments=arguments,
        version=envbuilder.__version__,
        files=pack_files(sent),
        variables=sent_variables(here),
    )


def files_for(here: Settings, row: str) -> dict[str, str]:
    """Return the files of all catalogs that the work on one row reads: all but locks and reports of other rows.

    Returns:
        Content by path: those of envbuilder below `matrices/`, those of teams in directories below `teams/N/`.

    Raises:
        UsageError: A catalog of the configuration is no catalog, or has a file that is not text.
    """
    files = {f"{OWN}/{path}": text for path, text in _catalog_for(here.matrices, row).items()}
    for place, reference in _teams(here):
        if isinstance(reference, DirectoryReference):
            files |= {f"{place}/{path}": text for path, text in _team_for(Path(reference.path), row).items()}
    return files


def place_of(here: Settings, catalog: Catalog, row: str) -> str:
    """Return the directory of `files_for` with the files of a row."""
    team = catalog.origin(row)
    return OWN if team is None else list(_teams(here))[catalog.teams.index(team)][0]


def result_key(here: Settings, item: WorkItem) -> str:
    """Return the digest of what decides the result of an item: command, settings, version, and what they are about.

    That are the tables of the catalogs, the files of the row, and the files that the command names.
    """
    inputs = {}
    for path, text in files_for(here, item.name).items():
        place, _, rest = path.partition("/")
        own = rest if place == OWN else rest.partition("/")[2]
        if "/" not in own or own in _own_files(item.name):
            inputs[path] = digest_of(text.encode())
    for word in item.arguments:
        named = Path(word.partition("=")[2] if word.startswith("--") else word)
        if named.is_file():
            inputs[word] = _state(named)
    decides = {"arguments": list(item.arguments), "version": item.version, "inputs": inputs}
    return inputs_digest(decides | {"variables": [list(each) for each in item.variables]})


def record_files(records: CatalogFiles, row: str, sent: Mapping[str, str], done: Done, place: str = OWN) -> None:
    """Write the files of a row that a worker has changed to its catalog.

    `sent` are the files of `files_for`, and `place` the directory of the catalog among them.

    Raises:
        VerificationFailed: The worker changed other files than those of the row.
        UsageError: The row has changed here in the meantime.
    """
    changed = {path.removeprefix(f"{place}/"): text for path, text in done.files.items()}
    foreign = sorted(path for path in changed if path not in _own_files(row) and not _is_report(path, row))
    if foreign:
        raise VerificationFailed(f"the worker returned files that are not those of {row}: {', '.join(foreign)}")
    for path in changed:
        if _text(records.matrices / path) != sent.get(f"{place}/{path}"):
            raise UsageError(f"{path} was changed here while {row} ran elsewhere", hint="run the same command again")
    for path, text in changed.items():
        if text is None:
            (records.matrices / path).unlink(missing_ok=True)
        else:
            records.write(path, text)


def sent_variables(here: Settings) -> tuple[tuple[str, str], ...]:
    """Return the settings of this host as variables for a worker, sorted by name; those without a value are its own.

    The cache directory, the engine and the terminal of a worker are its own.

    Raises:
        UsageError: A value of a list contains a space: in a variable, spaces separate the values.
    """
    variables = {OPTIONS_SENT: "1", MATRICES.variable: f"{FILES}/{OWN}"}
    if here.index:
        variables[INDEX.variable] = here.index
    teams = [
        f"{FILES}/{place}" if isinstance(reference, DirectoryReference) else str(reference)
        for place, reference in _teams(here)
    ]
    if teams:
        variables[CATALOGS.variable] = " ".join(teams)
    for setting in _SENT:
        if given := here.given(setting):
            variables[setting.variable] = _sent_text(setting, given)
    return tuple(sorted(variables.items()))


def _sent_text(setting: Setting, given: Given) -> str:
    if setting.kind is SettingKind.PATH:
        return str(given.path.absolute())
    words = [_absolute_place(word) for word in given.words] if setting is PUBLISHERS else list(given.words)
    spaced = [word for word in words if len(word.split()) != 1]
    if setting.kind is SettingKind.WORDS and spaced:
        raise UsageError(
            f"{given.origin}: {without_logins(spaced[0])!r} cannot be sent to workers: it contains a space",
            hint="rename it, or omit --on",
        )
    return " ".join(words)


def _absolute_place(word: str) -> str:
    name, equals, place = word.partition("=")
    return f"{name}{equals}{relative_to(place, Path.cwd())}"


def _teams(here: Settings) -> Iterator[tuple[str, CatalogReference]]:
    """Yield the catalogs of teams, each with its directory among the sent files; that of a repository is not sent."""
    for number, reference in enumerate(configured_catalogs(here)):
        yield f"{_TEAMS}/{number}", reference


def _catalog_for(matrices: Path, row: str) -> dict[str, str]:
    return {
        path: text
        for path, text in read_files(matrices).items()
        if not path.startswith(("locks/", "evidence/reports/")) or path in _own_files(row) or _is_report(path, row)
    }


def _team_for(folder: Path, row: str) -> dict[str, str]:
    """Return the files of a team's catalog: what decides about environments and specs, and evidence.

    Raises:
        UsageError: A file is not text.
    """
    reports = (folder / "evidence" / "reports" / row).glob("*.json")
    files = sorted({*deciding_files(folder), *(folder / "evidence").glob("*.yaml"), *reports})
    try:
        return {file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8") for file in files}
    except UnicodeDecodeError as error:
        raise UsageError(f"the catalog {folder} has a file that is not text", hint=str(error)) from error


def _state(path: Path) -> str:
    """Return a value that changes with a file, without reading it: images are too large."""
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"


def _own_files(row: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{row}.yaml" for folder in ("environments", "evidence", "locks"))


def _is_report(path: str, row: str) -> bool:
    folder, _, name = path.rpartition("/")
    return folder == f"evidence/reports/{row}" and _REPORT.fullmatch(name) is not None


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None

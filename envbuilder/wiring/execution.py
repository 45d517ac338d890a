"""Work on many environments, on this machine or on a cluster: the executor, and what is sent and received."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import assert_never

import envbuilder
from envbuilder.cluster.execution.dask_cluster import open_dask
from envbuilder.cluster.execution.executor import Done, Executor, WorkItem
from envbuilder.cluster.execution.finished_items import FinishedItems
from envbuilder.cluster.execution.local_processes import LocalExecutor
from envbuilder.cluster.execution.packed_files import pack_files, read_files
from envbuilder.cluster.execution.slurm_jobs import open_slurm
from envbuilder.cluster.execution.targets import DaskCluster, ExecutionTarget, LocalProcesses, SlurmJobs
from envbuilder.core.canonical_json import inputs_digest
from envbuilder.core.digests import digest_of
from envbuilder.core.errors import UsageError, VerificationFailed
from envbuilder.curation.proof.catalog_files import CatalogFiles
from envbuilder.wiring.settings import Settings

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
            work = here.use("work")
            work.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=work, prefix="fan-out-", ignore_cleanup_errors=True) as folder:
                yield open_slurm(target, Path(folder) / "jobs", progress)
        case DaskCluster():
            yield open_dask(target, progress)
        case _:
            assert_never(target)


def finished_items(here: Settings) -> FinishedItems:
    """Return the results of incomplete calls, in the cache directory."""
    folder = here.use("fan-out")
    folder.mkdir(parents=True, exist_ok=True)
    return FinishedItems(folder=folder, clock=time.time)


def work_item(name: str, arguments: tuple[str, ...], catalog: Mapping[str, str] | None = None) -> WorkItem:
    """Return a work item of this version of envbuilder.

    Args:
        name: Environment or image.
        arguments: Command line without the program.
        catalog: Files of the catalog to send; None if workers use their own.
    """
    packed = pack_files(catalog) if catalog else b""
    return WorkItem(name=name, arguments=arguments, version=envbuilder.__version__, catalog=packed)


def catalog_for(matrices: Path, row: str) -> dict[str, str]:
    """Return the files of a catalog that the work on one row reads: all but locks and reports of other rows."""
    return {
        path: text
        for path, text in read_files(matrices).items()
        if not path.startswith(("locks/", "evidence/reports/")) or path in _own_files(row) or _is_report(path, row)
    }


def result_key(here: Settings, item: WorkItem) -> str:
    """Return the digest of what decides the result of an item: command, version, and the files that it is about.

    These are the tables of the catalog, the files of the row, and the files that the command names.
    """
    inputs = {
        path: digest_of(text.encode())
        for path, text in catalog_for(here.matrices, item.name).items()
        if "/" not in path or path in _own_files(item.name)
    }
    for word in item.arguments:
        path = Path(word.partition("=")[2] if word.startswith("--") else word)
        if path.is_file():
            inputs[word] = _state(path)
    return inputs_digest({"arguments": list(item.arguments), "version": item.version, "inputs": inputs})


def record_files(records: CatalogFiles, row: str, sent: Mapping[str, str], done: Done) -> None:
    """Write the files of a row that a worker has changed to the catalog.

    Args:
        records: The catalog.
        row: Id of the row.
        sent: The files of the catalog as they were sent.
        done: Result of the worker.

    Raises:
        VerificationFailed: The worker changed other files than those of the row.
        UsageError: The row has changed here in the meantime.
    """
    foreign = sorted(path for path in done.files if path not in _own_files(row) and not _is_report(path, row))
    if foreign:
        raise VerificationFailed(f"the worker returned files that are not those of {row}: {', '.join(foreign)}")
    for path in done.files:
        if _text(records.matrices / path) != sent.get(path):
            raise UsageError(f"{path} was changed here while {row} ran elsewhere", hint="run the same command again")
    for path, text in done.files.items():
        if text is None:
            (records.matrices / path).unlink(missing_ok=True)
        else:
            records.write(path, text)


def _state(path: Path) -> str:
    """Return what changes with a file; images are too large to be read for it."""
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"


def _own_files(row: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{row}.yaml" for folder in ("environments", "evidence", "locks"))


def _is_report(path: str, row: str) -> bool:
    folder, _, name = path.rpartition("/")
    return folder == f"evidence/reports/{row}" and _REPORT.fullmatch(name) is not None


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None

"""What every executor promises, with real processes: results, errors, losses, and an end without remains."""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

import envbuilder
from envbuilder.catalog.evidence import Grade
from envbuilder.catalog.load.environments import Proof, dump_proof
from envbuilder.catalog.selection import find
from envbuilder.cluster.execution.commands import run_item
from envbuilder.cluster.execution.dask_cluster import DaskExecutor
from envbuilder.cluster.execution.executor import FILES, Done, Executor, FailedItem, Lost, WorkItem
from envbuilder.cluster.execution.local_processes import LocalExecutor
from envbuilder.cluster.execution.packed_files import pack_files
from envbuilder.cluster.execution.slurm_jobs import JobState, SlurmExecutor
from envbuilder.cluster.execution.targets import DaskCluster, LocalProcesses
from envbuilder.wiring.execution import files_for
from envbuilder.wiring.settings import Settings
from tests.contract.processes import gone
from tests.fakes.catalogs import ROOT, real_catalog

_LONGEST = 120.0


def _of_library(name: str) -> ParameterSet:
    # submitit and distributed leave sockets and processes for the garbage collector.
    ignored = ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning")
    return pytest.param(name, marks=[pytest.mark.filterwarnings(f"ignore::{each}") for each in ignored])


class LocalQueue:
    """Processes of submitit in the place of jobs."""

    def __init__(self, folder: Path) -> None:
        self._submitit = importlib.import_module("submitit")
        self._folder = folder
        self._jobs: dict[str, Any] = {}
        self.processes: list[subprocess.Popen[bytes]] = []

    def submit(self, items: Sequence[WorkItem]) -> Mapping[str, Any]:
        executor = self._submitit.LocalExecutor(folder=self._folder)
        executor.update_parameters(timeout_min=5)
        jobs = executor.map_array(run_item, items)
        self._jobs = {job.job_id: job for job in jobs}
        self.processes += [job._process for job in jobs]
        return {each.name: job for each, job in zip(items, jobs, strict=True)}

    def states(self, ids: Sequence[str]) -> Mapping[str, JobState]:
        return {each: JobState(state=self._jobs[each].state) for each in ids}


@contextmanager
def _local(_folder: Path) -> Iterator[Executor]:
    yield LocalExecutor(LocalProcesses(at_once=2), lambda _: None)


@contextmanager
def _submitit(folder: Path) -> Iterator[Executor]:
    queue = LocalQueue(folder)
    yield SlurmExecutor(queue, lambda _: None, poll=0.1, grace=2.0)
    # submitit keeps them: one that nobody waited for would be a warning in whichever test collects it.
    for process in queue.processes:
        process.wait(_LONGEST)


@contextmanager
def _dask(folder: Path) -> Iterator[Executor]:
    told = folder / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    options = ["--no-dashboard", "--scheduler-file", str(told)]
    worker = [*dask, "worker", *options, "--no-nanny", "--nthreads", "1", "--local-directory", str(folder)]
    with ExitStack() as stack, (folder / "dask.log").open("wb") as log:
        for command in ([*dask, "scheduler", *options, "--host", "127.0.0.1", "--port", "0"], worker, worker):
            process = stack.enter_context(subprocess.Popen(command, stdout=log, stderr=log))
            stack.callback(process.terminate)
            _wait_for(told)
        address = json.loads(told.read_text(encoding="utf-8"))["address"].removeprefix("tcp://")
        distributed = importlib.import_module("distributed")
        yield DaskExecutor(DaskCluster(address=address), distributed, lambda _: None, poll=0.1)


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + _LONGEST
    while not path.is_file():
        assert time.monotonic() < deadline, f"{path} was not written"
        time.sleep(0.05)


OPEN: Mapping[str, Callable[[Path], Any]] = {"local": _local, "submitit": _submitit, "dask": _dask}


@pytest.fixture(scope="module", params=["local", _of_library("submitit"), _of_library("dask")])
def executor(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Executor]:
    folder = tmp_path_factory.mktemp("execution")
    # submitit ends its local processes by SIGINT, which a job in the background of a script, as CI may be, ignores.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENVBUILDER_CACHE", str(folder / "cache"))
        patch.delenv("ENVBUILDER_MATRICES", raising=False)
        # Commands import this checkout, wherever another one is installed.
        patch.setenv("PYTHONPATH", str(ROOT))
        with OPEN[request.param](folder) as opened:
            yield opened
    signal.signal(signal.SIGINT, before)
    # What the libraries leave is collected here, where its warnings are ignored, and not in another test.
    gc.collect()


class SilentIndex:
    """A package index that accepts a connection and never answers: a command that asks it runs until it is stopped."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.address = f"http://127.0.0.1:{self._server.getsockname()[1]}/simple"
        self.asked = threading.Event()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        try:
            while True:
                self._open.append(self._server.accept()[0])
                self.asked.set()
        except OSError:
            return

    def wait(self) -> None:
        """Wait until a command has asked."""
        assert self.asked.wait(_LONGEST), "no command asked the index"

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join()
        for each in self._open:
            each.close()


@pytest.fixture
def silent_index() -> Iterator[SilentIndex]:
    with closing(SilentIndex()) as index:
        yield index


def item(name: str, *arguments: str, files: Mapping[str, str] | None = None) -> WorkItem:
    variables = (("ENVBUILDER_MATRICES", f"{FILES}/matrices"),) if files else ()
    packed = pack_files(files) if files else b""
    return WorkItem(name=name, arguments=arguments, version=envbuilder.__version__, files=packed, variables=variables)


def listing(name: str) -> WorkItem:
    return item(name, "list", "--json")


def waiting(name: str, index: SilentIndex) -> WorkItem:
    return item(name, "catalog", "audit", "--json", "--index", index.address, "--", "tf-2.15-cpu")


def processes_of(word: str) -> list[int]:
    return [
        int(path.parent.name) for path in Path("/proc").glob("[0-9]*/cmdline") if word.encode() in path.read_bytes()
    ]


def test_results_and_errors(executor: Executor) -> None:
    items = [listing("good"), item("unknown", "show", "--json", "--", "nothing"), item("text", "list")]
    outcomes = {each.name: each for each in executor.map(items)}
    good = outcomes["good"]
    assert isinstance(good, Done)
    assert (good.status, good.document["schema"], good.files) == (0, 1, {})
    unknown = outcomes["unknown"]
    assert isinstance(unknown, FailedItem)
    assert unknown.status == 2
    assert unknown.reason.startswith("unknown environment: 'nothing'; ")
    text = outcomes["text"]
    assert isinstance(text, FailedItem)
    assert "no JSON document" in text.reason


def test_a_command_works_on_the_catalog_that_was_sent_and_its_changes_come_back(executor: Executor) -> None:
    row = "tf-2.15-cpu"
    here = Settings(matrices=ROOT / "matrices", templates=ROOT, cache_path=ROOT, environ={})
    sent = files_for(here, row)
    evidence = f"matrices/evidence/{row}.yaml"
    measured = tuple(each for each in find(real_catalog(), row).evidence if each.grade.rank < Grade.RESOLVED.rank)
    sent[evidence] = dump_proof(row, Proof(evidence=measured))
    # The closure ships with the catalog, so that no index is asked.
    asked = ("catalog", "prove", "--json", "--tier", "resolved", "--index", "http://127.0.0.1:1/simple", "--", row)
    [outcome] = executor.map([item(row, *asked, files=sent)])
    assert isinstance(outcome, Done), outcome
    assert outcome.status == 0
    assert "resolved" in (outcome.files[evidence] or "")
    reports = {path for path in outcome.files if path.startswith(f"matrices/evidence/reports/{row}/")}
    # Reports that no evidence names are removed.
    assert set(outcome.files) == {evidence} | reports
    assert not any(outcome.files[path] for path in reports)


def test_a_killed_command_is_lost_and_the_others_finish(executor: Executor, silent_index: SilentIndex) -> None:
    with closing(executor.map([waiting("poisoned", silent_index), listing("good"), listing("better")])) as ended:
        killer = threading.Thread(target=_kill_when_asked, args=(silent_index,))
        killer.start()
        outcomes = {each.name: each for each in ended}
        killer.join()
    lost = outcomes.pop("poisoned")
    assert isinstance(lost, Lost)
    assert "killed by SIGKILL" in lost.reason
    assert all(isinstance(each, Done) for each in outcomes.values())


def _kill_when_asked(index: SilentIndex) -> None:
    index.wait()
    for number in processes_of(index.address):
        os.kill(number, signal.SIGKILL)


def test_nothing_runs_after_an_interruption(executor: Executor, silent_index: SilentIndex) -> None:
    outcomes = executor.map([listing("good"), waiting("waiting", silent_index)])
    assert next(outcomes).name == "good"
    silent_index.wait()
    outcomes.close()
    assert gone(silent_index.address)

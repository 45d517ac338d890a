"""Places where commands run, as fakes: an executor, the queue of a scheduler, and the client of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from envbuilder.cluster.execution.executor import Done, Outcome, WorkItem
from envbuilder.cluster.execution.slurm_jobs import JobState


def item(name: str) -> WorkItem:
    """A command that is never run."""
    return WorkItem(name=name, arguments=("list", "--json"), version="1")


def done(name: str, *, status: int = 0, files: Mapping[str, str | None] | None = None) -> Done:
    """A result without content."""
    document = {"schema": 1, "about": name}
    return Done(name=name, status=status, document=document, files=files or {}, node="n1", seconds=1.5)


@dataclass(slots=True)
class FakeExecutor:
    """An executor that knows what becomes of each item.

    Attributes:
        outcomes: Outcome of each item; those that are not named are done.
        asked: Names of the items that were run, in order.
        cancelled: Whether the iterator was closed before its end.
    """

    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    cancelled: bool = False

    def map(self, items: Sequence[WorkItem]) -> Generator[Outcome]:
        left = [each.name for each in items]
        self.asked += left
        try:
            while left:
                name = left.pop(0)
                yield self.outcomes.get(name) or done(name)
        finally:
            self.cancelled = bool(left)


class FakeJob:
    """A job as submitit shows it: its result is a file, and reading it may fail."""

    def __init__(self, job_id: str, folder: Path) -> None:
        self.job_id = job_id
        self.paths = SimpleNamespace(result_pickle=folder / f"{job_id}_result.pkl", folder=folder)
        self.outcome: Outcome | Exception | None = None
        self.cancelled = False

    def end(self, outcome: Outcome | Exception) -> None:
        """Write the result."""
        self.outcome = outcome
        self.paths.result_pickle.write_bytes(b"")

    def result(self) -> Outcome:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        assert self.outcome is not None, "the result is read before the job wrote it"
        return self.outcome

    def cancel(self, *, check: bool) -> None:
        assert not check, "a job that has ended meanwhile is no error"
        self.cancelled = True


class FakeQueue:
    """A queue in which time passes with each look at it.

    Args:
        folder: Directory of the jobs.
        looks: What a look sees: the state of each job by the name of its item, or None if the scheduler does not
            answer; the last one stays.
        events: Called before the look of that number, from 0, with the jobs.
    """

    def __init__(
        self,
        folder: Path,
        looks: Sequence[Mapping[str, JobState] | None],
        events: Mapping[int, Callable[[Mapping[str, FakeJob]], None]],
    ) -> None:
        self.jobs: dict[str, FakeJob] = {}
        self._folder = folder
        self._looks = looks
        self._events = events
        self._number = 0

    def submit(self, items: Sequence[WorkItem]) -> Mapping[str, FakeJob]:
        self.jobs = {each.name: FakeJob(f"7_{number}", self._folder) for number, each in enumerate(items)}
        return self.jobs

    def states(self, ids: Sequence[str]) -> Mapping[str, JobState] | None:
        if self._number in self._events:
            self._events[self._number](self.jobs)
        assert set(ids) <= {each.job_id for each in self.jobs.values()}
        look = self._looks[min(self._number, len(self._looks) - 1)]
        self._number += 1
        return None if look is None else {self.jobs[name].job_id: state for name, state in look.items()}


class KilledWorker(Exception):
    """As that of dask.distributed: the workers that ran a command have died."""

    last_worker = SimpleNamespace(address="tcp://w1:1")


class FakeFuture(Future[Outcome]):
    """A future of dask.distributed, whose status is a text."""

    status: Any = "pending"


class FakeDask:
    """The library dask.distributed, with one cluster.

    Args:
        fates: What becomes of each item: an outcome, an error, or the status of its future. Others stay pending.
        workers: Number of workers.

    Attributes:
        stopped: Functions that ran on all workers, with their arguments.
        cancelled: Number of futures that were cancelled.
    """

    KilledWorker = KilledWorker
    TimeoutError = TimeoutError

    def __init__(
        self, fates: Mapping[str, Outcome | Exception | str], *, workers: int = 4, answers: bool = True
    ) -> None:
        self.status = "running"
        self.stopped: list[tuple[Callable[..., object], tuple[object, ...]]] = []
        self.cancelled = 0
        self._fates = fates
        self._workers = workers
        self._answers = answers

    def Client(self, address: str, **_: object) -> FakeDask:  # noqa: N802  the name of the library
        if not self._answers:
            raise OSError(f"no answer from {address}")
        return self

    def submit(self, _function: object, item: WorkItem, _call: str, **_: object) -> FakeFuture:
        future, fate = FakeFuture(), self._fates.get(item.name, "pending")
        if isinstance(fate, str):
            future.status = fate
        elif isinstance(fate, Exception):
            future.status = "error"
            future.set_exception(fate)
        else:
            future.status = "finished"
            future.set_result(fate)
        return future

    def nthreads(self) -> dict[str, int]:
        if self.status != "running":
            raise OSError("closed")
        return {f"tcp://w{number}:1": 1 for number in range(self._workers)}

    def cancel(self, futures: Sequence[FakeFuture], *, force: bool) -> None:
        assert force, "others may hold the same futures"
        self.cancelled += len(futures)

    def run(self, function: Callable[..., object], *arguments: object) -> None:
        self.stopped.append((function, arguments))

    def close(self, *, timeout: float) -> None:
        assert timeout > 0
        self.status = "closed"

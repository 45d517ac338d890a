"""Run commands as jobs of Slurm, submitted by submitit. The only module that imports it."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from envbuilder.cluster.execution.commands import run_item
from envbuilder.cluster.execution.executor import FailedItem, Lost, Outcome, WorkItem
from envbuilder.cluster.execution.optional_library import optional_library
from envbuilder.cluster.execution.process_environment import outside_a_job
from envbuilder.cluster.execution.slurm_time_limits import job_minutes, partition_limits
from envbuilder.cluster.execution.targets import SlurmJobs
from envbuilder.core.errors import ToolFailed, ToolMissing

_POLL = 1.0
_GRACE = 20.0
"""Seconds that a result may take to appear after its job has ended: NFS may show a new file late."""

_ON_ITS_WAY = frozenset(
    {
        "CONFIGURING",
        "COMPLETING",
        "PENDING",
        "REQUEUED",
        "REQUEUE_HOLD",
        "RESIZING",
        "RUNNING",
        "SIGNALING",
        "STAGE_OUT",
        "STOPPED",
        "SUSPENDED",
    }
)
"""States of a job that can still end well: JOB STATE CODES in https://slurm.schedmd.com/squeue.html"""

_USUAL = frozenset({"", "Priority", "Resources", "JobArrayTaskLimit"})
"""Reasons of jobs that wait for their turn: JOB REASON CODES in https://slurm.schedmd.com/squeue.html"""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """State of a job.

    Attributes:
        state: As Slurm writes it, such as `RUNNING`.
        node: Node or nodes; empty if it has none.
        why: Slurm's reason for the state; empty for none.
    """

    state: str
    node: str = ""
    why: str = ""

    @property
    def is_over(self) -> bool:
        """True if the job will not run any more."""
        return self.state not in _ON_ITS_WAY

    def __str__(self) -> str:
        node = f" on {self.node}" if self.node else ""
        return f"{self.state}{node}" + (f" ({self.why})" if self.why else "")


class JobQueue(Protocol):
    """The queue of a scheduler."""

    def submit(self, items: Sequence[WorkItem]) -> Mapping[str, Any]:
        """Submit one job for each item; return the jobs of submitit by the names of the items.

        Raises:
            ToolMissing: The library or the scheduler is not installed.
            ToolFailed: The scheduler refuses the jobs.
        """
        ...

    def states(self, ids: Sequence[str]) -> Mapping[str, JobState] | None:
        """Return the states of jobs by id, without those that are forgotten; None if the scheduler does not answer."""
        ...


class SlurmExecutor:
    """The `Executor` of a Slurm cluster.

    Args:
        poll: Seconds between two looks at the queue.
        grace: Seconds that a result may take to appear after its job has ended.
    """

    def __init__(
        self, queue: JobQueue, progress: Callable[[str], None], *, poll: float = _POLL, grace: float = _GRACE
    ) -> None:
        self._queue = queue
        self._progress = progress
        self._poll = poll
        self._grace = grace

    def map(self, items: Sequence[WorkItem]) -> Generator[Outcome]:
        """See `Executor.map`."""
        jobs = dict(self._queue.submit(items))
        self._progress(f"jobs submitted: {len(jobs)}")
        shown: dict[str, JobState] = {}
        gone: dict[str, float] = {}
        try:
            while jobs:
                states = self._queue.states([job.job_id for job in jobs.values()])
                for name, job in list(jobs.items()):
                    if job.paths.result_pickle.exists():
                        del jobs[name]
                        yield _outcome(name, job)
                        continue
                    state = shown.get(name) if states is None else states.get(job.job_id)
                    self._show(name, state, shown)
                    if states is not None and (state is None or state.is_over):
                        since = gone.setdefault(name, time.monotonic())
                        if time.monotonic() - since >= self._grace:
                            del jobs[name]
                            yield Lost(name=name, reason=_reason(job, shown.get(name)))
                time.sleep(self._poll)
        finally:
            for job in jobs.values():
                with suppress(OSError, subprocess.SubprocessError):
                    job.cancel(check=False)

    def _show(self, name: str, state: JobState | None, shown: dict[str, JobState]) -> None:
        if state is not None and state != shown.get(name):
            shown[name] = state
            if state.state != "PENDING" or state.why not in _USUAL:
                self._progress(f"{name}: {state}")


def _outcome(name: str, job: Any) -> Outcome:  # noqa: ANN401  submitit is optional, and has no types here
    try:
        found: Outcome = job.result()
    except Exception as error:  # noqa: BLE001  whatever the worker raised, or a file that cannot be read
        last = str(error).strip().splitlines()[-1:]
        return FailedItem(name=name, status=70, reason=f"the job failed: {' '.join(last)}", node="")
    return found


def _reason(job: Any, state: JobState | None) -> str:  # noqa: ANN401
    known = f"the job {job.job_id} ended without a result"
    if state is None or not state.is_over:
        return f"{known}, and Slurm does not know its state any more"
    if state.state in {"COMPLETED", "FAILED"}:
        return f"{known}: {state}; are its files, {job.paths.folder}, on a file system that the nodes share?"
    return f"{known}: {state}"


def open_slurm(target: SlurmJobs, folder: Path, progress: Callable[[str], None]) -> SlurmExecutor:
    """Return the executor of the Slurm cluster of this machine.

    Args:
        target: Options of the jobs.
        folder: Directory for the files of the jobs, on a file system that the nodes share; it is created.
        progress: Progress callback; receives one line of text.

    Raises:
        ToolMissing: submitit is not installed.
        UsageError: The partition does not allow the time limit of the jobs.
    """
    submitit = optional_library("submitit", "slurm")
    minutes = job_minutes(dict(target.fields), partition_limits(), progress)
    return SlurmExecutor(SlurmQueue(target, folder, submitit, minutes), progress)


class SlurmQueue:
    """The queue of the Slurm cluster whose programs are on the search path.

    Args:
        target: Options of the jobs.
        folder: Directory for the files of the jobs, on a file system that the nodes share; it is created.
        submitit: The library.
        minutes: Time limit of each job.
    """

    def __init__(self, target: SlurmJobs, folder: Path, submitit: Any, minutes: int) -> None:  # noqa: ANN401
        self._fields = dict(target.fields) | {"minutes": str(minutes)}
        self._folder = folder
        self._submitit = submitit

    def submit(self, items: Sequence[WorkItem]) -> Mapping[str, Any]:
        """See `JobQueue.submit`."""
        for program in ("sbatch", "srun", "squeue", "scancel"):
            if shutil.which(program) is None:
                raise ToolMissing(f"{program} is not installed", hint="run the command where jobs can be submitted")
        executor = self._submitit.SlurmExecutor(folder=self._folder)
        executor.update_parameters(**submitit_parameters(self._fields))
        try:
            with outside_a_job():
                jobs = executor.map_array(run_item, items)
        except (self._submitit.core.utils.FailedSubmissionError, self._submitit.core.utils.FailedJobError) as error:
            lines = str(error).strip().splitlines()
            raise ToolFailed(
                f"Slurm did not accept the jobs: {lines[-1] if lines else error}",
                hint="check the fields of --on slurm:",
            ) from error
        return {item.name: job for item, job in zip(items, jobs, strict=True)}

    def states(self, ids: Sequence[str]) -> Mapping[str, JobState] | None:
        """See `JobQueue.states`."""
        arrays = sorted({each.partition("_")[0] for each in ids})
        command = [
            "squeue",
            "--noheader",
            "--array",
            "--states=all",
            "--format=%i|%T|%N|%r",
            f"--jobs={','.join(arrays)}",
        ]
        asked = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if asked.returncode:
            # A job that ended long ago is an error for squeue.
            return {} if "Invalid job id" in asked.stderr else None
        return dict(parse_states(asked.stdout))


def parse_states(listing: str) -> Iterator[tuple[str, JobState]]:
    """Yield id and state of each job in the output of squeue."""
    for line in listing.splitlines():
        number, _, rest = line.strip().partition("|")
        state, node, why = (*rest.split("|", 2), "", "")[:3]
        yield number, JobState(state=state, node=node, why="" if why in {"None", "NonZeroExitCode"} else why)


def submitit_parameters(fields: Mapping[str, str]) -> dict[str, object]:
    """Return the parameters of submitit."""
    given: dict[str, object] = {
        name: fields[name] for name in ("partition", "account", "qos", "constraint", "gres") if name in fields
    }
    if "cpus" in fields:
        given["cpus_per_task"] = int(fields["cpus"])
    if "at-once" in fields:
        given["array_parallelism"] = int(fields["at-once"])
    # A job that takes its node down must not take down the next one: it is reported as lost instead.
    more: dict[str, object] = {"no-requeue": True}
    if "mem" in fields:
        more["mem"] = fields["mem"]
    return given | {
        "job_name": "envbuilder",
        "time": int(fields["minutes"]),
        "additional_parameters": more,
    }

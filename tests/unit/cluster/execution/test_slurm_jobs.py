"""Jobs end with a result, or are lost with what Slurm knows about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from envbuilder.cluster.execution.executor import FailedItem, Lost, Outcome
from envbuilder.cluster.execution.slurm_jobs import JobState, SlurmExecutor, parse_states, submitit_parameters
from tests.fakes.executors import FakeQueue, done, item

PENDING = JobState(state="PENDING", why="Resources")
RUNNING = JobState(state="RUNNING", node="n1")


def run(queue: FakeQueue, names: str, told: list[str] | None = None) -> dict[str, Outcome]:
    executor = SlurmExecutor(queue, (told if told is not None else []).append, poll=0.0, grace=0.0)
    return {each.name: each for each in executor.map([item(name) for name in names])}


def test_each_job_ends_with_its_result_and_its_states_are_told_once(tmp_path: Path) -> None:
    limit = JobState(state="PENDING", why="PartitionTimeLimit")
    looks: Sequence[Mapping[str, JobState]] = [{"a": PENDING}, {"a": limit}, {"a": RUNNING}, {"a": RUNNING}]
    told: list[str] = []
    queue = FakeQueue(tmp_path, looks, {4: lambda jobs: jobs["a"].end(done("a"))})
    assert run(queue, "a", told) == {"a": done("a")}
    assert told == ["jobs submitted: 1", "a: PENDING (PartitionTimeLimit)", "a: RUNNING on n1"]


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (JobState(state="NODE_FAIL", node="n1"), "the job 7_1 ended without a result: NODE_FAIL on n1"),
        (JobState(state="TIMEOUT", node="n1", why="TimeLimit"), "TIMEOUT on n1 (TimeLimit)"),
        (JobState(state="FAILED", node="n1"), "on a file system that the nodes share?"),
    ],
)
def test_a_job_that_ends_without_a_result_is_lost_and_the_others_finish(
    tmp_path: Path, state: JobState, reason: str
) -> None:
    looks = [{"a": RUNNING, "b": RUNNING}, {"a": RUNNING, "b": state}]
    queue = FakeQueue(tmp_path, looks, {4: lambda jobs: jobs["a"].end(done("a"))})
    outcomes = run(queue, "ab")
    assert outcomes["a"] == done("a")
    lost = outcomes["b"]
    assert isinstance(lost, Lost)
    assert reason in lost.reason


def test_a_job_that_slurm_has_forgotten_is_lost(tmp_path: Path) -> None:
    outcome = run(FakeQueue(tmp_path, [{"a": RUNNING}, {}], {}), "a")["a"]
    assert outcome == Lost(
        name="a", reason="the job 7_0 ended without a result, and Slurm does not know its state any more"
    )


def test_a_scheduler_that_does_not_answer_for_a_while_loses_nothing(tmp_path: Path) -> None:
    queue = FakeQueue(tmp_path, [{"a": RUNNING}, None, None, None], {4: lambda jobs: jobs["a"].end(done("a"))})
    assert run(queue, "a") == {"a": done("a")}


def test_a_job_whose_function_fails_says_why(tmp_path: Path) -> None:
    error = RuntimeError("Traceback:\n  line\nModuleNotFoundError: No module named 'envbuilder'")
    outcome = run(FakeQueue(tmp_path, [{}], {0: lambda jobs: jobs["a"].end(error)}), "a")["a"]
    assert isinstance(outcome, FailedItem)
    assert "No module named 'envbuilder'" in outcome.reason


def test_an_interruption_cancels_the_jobs_that_have_not_ended(tmp_path: Path) -> None:
    queue = FakeQueue(tmp_path, [{"a": RUNNING, "b": RUNNING}], {0: lambda jobs: jobs["a"].end(done("a"))})
    outcomes = SlurmExecutor(queue, lambda _: None, poll=0.0).map([item("a"), item("b")])
    assert next(outcomes) == done("a")
    outcomes.close()
    assert {name: job.cancelled for name, job in queue.jobs.items()} == {"a": False, "b": True}


def test_the_listing_of_squeue_is_read() -> None:
    listing = "12_0|RUNNING|n1|None\n12_1|PENDING||Resources\n12_2|FAILED|n2|NonZeroExitCode\n"
    assert dict(parse_states(listing)) == {
        "12_0": JobState(state="RUNNING", node="n1"),
        "12_1": JobState(state="PENDING", why="Resources"),
        "12_2": JobState(state="FAILED", node="n2"),
    }


def test_fields_become_parameters_of_submitit() -> None:
    fields = {"partition": "gpu", "gres": "gpu:1", "cpus": "4", "minutes": "90", "at-once": "2", "mem": "8G"}
    assert submitit_parameters(fields) == {
        "job_name": "envbuilder",
        "partition": "gpu",
        "gres": "gpu:1",
        "cpus_per_task": 4,
        "array_parallelism": 2,
        "time": 90,
        "additional_parameters": {"no-requeue": True, "mem": "8G"},
    }

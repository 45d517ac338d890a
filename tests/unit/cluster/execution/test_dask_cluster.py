"""Commands on a Dask cluster end with a result, or with the reason why there is none."""

from __future__ import annotations

import pytest

from envbuilder.cluster.execution.commands import stop_items
from envbuilder.cluster.execution.dask_cluster import DaskExecutor
from envbuilder.cluster.execution.executor import FailedItem, Lost
from envbuilder.cluster.execution.targets import DaskCluster
from envbuilder.core.errors import ToolFailed
from tests.fakes.executors import FakeDask, KilledWorker, done, item


def executor(dask: FakeDask, *, patience: float = 0.0) -> DaskExecutor:
    return DaskExecutor(DaskCluster(address="login:8786"), dask, lambda _: None, patience=patience, poll=0.0)


def test_each_kind_of_end_has_its_outcome() -> None:
    dask = FakeDask(
        {
            "a": done("a"),
            "b": KilledWorker(),
            "c": ModuleNotFoundError("No module named 'envbuilder'"),
            "d": "cancelled",
        }
    )
    outcomes = {each.name: each for each in executor(dask).map([item(name) for name in "abcd"])}
    assert outcomes == {
        "a": done("a"),
        "b": Lost(name="b", reason="its workers died, the last one was tcp://w1:1"),
        "c": FailedItem(name="c", status=70, reason="ModuleNotFoundError: No module named 'envbuilder'", node=""),
        "d": Lost(name="d", reason="the Dask cluster dropped the command (cancelled)"),
    }
    assert dask.status == "closed"


def test_a_cluster_without_workers_is_not_waited_for_forever() -> None:
    outcomes = list(executor(FakeDask({}, workers=0)).map([item("a")]))
    assert outcomes == [Lost(name="a", reason="the Dask cluster had no worker for 0 s")]


def test_a_lost_connection_is_the_end_of_all_commands() -> None:
    dask = FakeDask({"a": done("a")})
    outcomes = executor(dask, patience=60).map([item("a"), item("b")])
    assert next(outcomes) == done("a")
    dask.status = "closed"
    assert list(outcomes) == [Lost(name="b", reason="the connection to the Dask scheduler was lost")]


def test_an_interruption_cancels_what_waits_and_stops_what_runs() -> None:
    dask = FakeDask({"a": done("a")})
    outcomes = executor(dask, patience=60).map([item("a"), item("b")])
    next(outcomes)
    outcomes.close()
    assert dask.cancelled == 1
    [(function, [_])] = dask.stopped
    assert function is stop_items


def test_a_scheduler_that_does_not_answer_is_an_error() -> None:
    with pytest.raises(ToolFailed, match="the Dask scheduler login:8786 does not answer"):
        list(executor(FakeDask({}, answers=False)).map([item("a")]))

"""A second call does only what the first one has not finished, and a complete call leaves nothing behind."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from envbuilder.cluster.execution.executor import Done, FailedItem, Lost, Outcome, WorkItem
from envbuilder.cluster.execution.finished_items import LARGEST_AGE, FinishedItems, run_unfinished
from envbuilder.core.digests import digest_of
from envbuilder.core.errors import UsageError
from tests.fakes.executors import FakeExecutor, done, item

ITEMS = tuple(map(item, "abcd"))


def key(each: WorkItem) -> str:
    return digest_of(each.name.encode())


@pytest.fixture
def finished(tmp_path: Path) -> FinishedItems:
    return FinishedItems(folder=tmp_path, clock=lambda: tmp_path.stat().st_mtime)


def run(finished: FinishedItems, executor: FakeExecutor, items: Sequence[WorkItem] = ITEMS) -> list[Outcome]:
    return list(run_unfinished(items, executor, finished, key, lambda _: None))


def test_only_what_has_no_result_is_run_again(finished: FinishedItems) -> None:
    failed = FailedItem(name="b", status=5, reason="no network", node="n2")
    first = FakeExecutor({"b": failed, "c": Lost(name="c", reason="killed"), "d": done("d", status=1)})
    assert {type(each) for each in run(finished, first)} == {Done, FailedItem, Lost}
    second = FakeExecutor()
    outcomes = {each.name: each for each in run(finished, second)}
    assert second.asked == ["b", "c", "d"]
    kept = outcomes["a"]
    assert isinstance(kept, Done)
    assert kept.recorded
    assert (kept.document, kept.node, kept.seconds) == (done("a").document, "n1", 1.5)


def test_a_complete_call_is_forgotten(finished: FinishedItems) -> None:
    run(finished, FakeExecutor({"b": Lost(name="b", reason="killed")}))
    run(finished, FakeExecutor())
    assert not list(finished.folder.iterdir())
    third = FakeExecutor()
    run(finished, third)
    assert third.asked == ["a", "b", "c", "d"]


def test_an_old_result_is_obtained_again(finished: FinishedItems) -> None:
    run(finished, FakeExecutor({"b": Lost(name="b", reason="killed")}))
    for path in finished.folder.iterdir():
        os.utime(path, (1, finished.clock() - LARGEST_AGE - 1))
    second = FakeExecutor()
    run(finished, second)
    assert second.asked == ["a", "b", "c", "d"]


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"name": "z", "seconds": 1.0}', b"\xff"])
def test_a_damaged_result_is_obtained_again(finished: FinishedItems, content: bytes) -> None:
    (finished.folder / key(ITEMS[0]).removeprefix("sha256:")).write_bytes(content)
    second = FakeExecutor()
    run(finished, second)
    assert "a" in second.asked


def test_results_that_cannot_be_taken_over_are_failures(finished: FinishedItems) -> None:
    def refuse(_: Done) -> None:
        raise UsageError("evidence/a.yaml was changed here")

    [outcome] = run_unfinished(ITEMS[:1], FakeExecutor(), finished, key, refuse)
    assert isinstance(outcome, FailedItem)
    assert (outcome.status, outcome.reason) == (2, "evidence/a.yaml was changed here")
    assert not list(finished.folder.iterdir())


def test_an_interruption_cancels_the_rest_and_keeps_what_is_done(finished: FinishedItems) -> None:
    executor = FakeExecutor()
    outcomes = run_unfinished(ITEMS, executor, finished, key, lambda _: None)
    assert next(outcomes).name == "a"
    outcomes.close()
    assert executor.cancelled
    second = FakeExecutor()
    run(finished, second)
    assert second.asked == ["b", "c", "d"]

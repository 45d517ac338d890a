"""The findings that a worker has by itself, against the judgement on the facts of all workers."""

from __future__ import annotations

import importlib
from copy import deepcopy
from typing import Any

import pytest

from envbuilder.diagnostics.checks.tolerances import SINGLE
from envbuilder.diagnostics.multi_node.judge import CHECKS
from tests.unit.diagnostics.multi_node.recorded import FOLDER, documents, judged, kinds

# The worker has no annotations.
worker: Any = importlib.import_module("envbuilder.incontainer.multi_node.findings")
_GOOD = "good-2.15"
_BY_OTHERS = {"never": "workers-connect", "closed": "same-cluster"}
"""A worker that has no facts of the others takes one that was not started for one that does not answer."""


def found(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the outcomes of a document."""
    return list(worker.findings(document))


def test_both_have_the_same_tolerance_and_checks() -> None:
    assert worker.TOLERANCE == SINGLE
    used = {*worker.REACHING.values(), *(check for _, check in worker.STEPS)}
    assert used <= {check.id for check in CHECKS}


@pytest.mark.parametrize("case", sorted(folder.name for folder in FOLDER.iterdir()))
def test_workers_and_judge_name_the_same_cause(case: str) -> None:
    each = documents(case)
    causes = kinds(judged(*each)).get("failed", [])
    failed = {check for document in each for outcome, check, _ in found(document) if outcome == worker.FAILED}
    if not causes:
        assert [check for document in each for _, check, _ in found(document)] == ["training-equals-one-worker"] * 2
        assert not failed
    else:
        assert _BY_OTHERS.get(case, causes[0]) in failed
        # No worker goes on to its training.
        assert all(any(outcome == worker.FAILED for outcome, _, _ in found(document)) for document in each)


def _set(document: dict[str, Any], fact: str, **more: Any) -> None:  # noqa: ANN401
    document["facts"][fact]["value"].update(more)


@pytest.mark.parametrize(
    ("fact", "more", "words"),
    [
        ("all-reduce", {"replicas": [1, 0]}, "worker 1 had no part in the sum"),
        ("all-reduce", {"sizes": [{"bytes": 4096, "wrong": 3, "seconds": []}]}, "3 elements of 4096 bytes"),
        ("training", {"values": ["nan"] * 5}, "differ from those of one worker by nan"),
        ("training", {"values": []}, "differ from those of one worker by inf"),
        ("training", {"values": [1.0] * 5}, "differ from those of one worker by"),
    ],
)
def test_a_wrong_result_fails(fact: str, more: dict[str, Any], words: str) -> None:
    document = deepcopy(documents(_GOOD)[0])
    _set(document, fact, **more)
    [(outcome, check, text)] = found(document)
    assert outcome == worker.FAILED
    assert check in {"all-reduce-exact", "training-equals-one-worker"}
    assert words in text


def test_a_release_without_the_strategy_is_not_proven_and_may_train() -> None:
    document = deepcopy(documents(_GOOD)[0])
    message = "module 'tensorflow.distribute' has no attribute 'MultiWorkerMirroredStrategy'"
    document["facts"]["strategy"] = {"ok": False, "error": {"type": "AttributeError", "message": message}}
    assert found(document)[0][:2] == (worker.NOT_PROVEN, "cluster-forms")


def test_a_worker_that_was_reached_and_reaches_nobody_is_told() -> None:
    document = deepcopy(documents(_GOOD)[0])
    document["peers"][0]["heard"] = None
    assert found(document)[0][1:] == (
        "workers-connect",
        "worker 1 at worker-1:29500 answers, and did not reach this worker",
    )


def test_lines_name_the_worker_first() -> None:
    [line] = worker.lines(documents("taken")[1])
    assert line == (
        "envbuilder: worker 1 (worker-1:29500): failed: ports-free: PortTaken: port 29500 is in use by another program"
    )

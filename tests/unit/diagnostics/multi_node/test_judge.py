"""Each fault has one cause, and what follows from it is not proven."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from envbuilder.diagnostics.checks.results import NotProven, Passed, Tier
from envbuilder.diagnostics.multi_node.judge import CHECKS
from tests.unit.diagnostics.multi_node.recorded import FOLDER, documents, judged, kinds, problem

_GOOD = "good-2.15"
_RECORDED = {
    "name": ("names-resolve", "worker-one:29500: EAI_AGAIN"),
    "closed": ("same-cluster", "worker-1:29501"),
    "noroute": ("workers-connect", "no route to its network"),
    "dropped": ("workers-connect", "packets to this port are dropped"),
    "taken": ("ports-free", "port 29500 is in use by another program"),
    "address": ("addresses-belong", "worker 0 answered in place of worker 1"),
    "never": ("workers-reported", "worker 1 (worker-1:29500) was never reached: ECONNREFUSED"),
    "killed": ("workers-reported", "worker 1 (worker-1:29500) ended 3.2 s after the start"),
    "mixed": ("versions-equal", "worker 0 has 2.4.4, worker 1 has 2.15.1"),
    "proxy": ("cluster-forms", "the proxy of http_proxy"),
}

Change = Callable[[list[dict[str, Any]]], None]


def test_every_recorded_folder_is_judged() -> None:
    assert {folder.name for folder in FOLDER.iterdir()} == {*_RECORDED, "good-1.15", _GOOD}


@pytest.mark.parametrize("case", _RECORDED)
def test_a_fault_has_one_cause_and_a_remedy(case: str) -> None:
    cause, words = _RECORDED[case]
    report = judged(*documents(case))
    assert not report.passed
    assert kinds(report)["failed"] == [cause]
    assert words in problem(report)
    later = {"all-reduce-exact", "training-equals-one-worker", "weights-equal"}
    assert later <= set(kinds(report)["not proven"])


@pytest.mark.parametrize("case", ["good-1.15", _GOOD])
def test_workers_that_train_together_pass_every_check(case: str) -> None:
    report = judged(*documents(case), require=True)
    assert report.passed
    assert kinds(report) == {"passed": [check.id for check in CHECKS]}
    assert report.tier is Tier.MULTI_NODE
    assert {figure.unit for figure in report.figures} == {"s", "MiB/s"}
    assert "that GPUs reduce over NCCL: the workers had none" in report.not_covered


def _values(document: dict[str, Any], fact: str) -> dict[str, Any]:
    value: dict[str, Any] = document["facts"][fact]["value"]
    return value


def _wrong_sum(both: list[dict[str, Any]]) -> None:
    _values(both[1], "all-reduce")["sizes"][2]["wrong"] = 3


def _absent_worker(both: list[dict[str, Any]]) -> None:
    for each in both:
        _values(each, "all-reduce")["replicas"] = [1, 0]


def _other_weights(both: list[dict[str, Any]]) -> None:
    for each in both:
        _values(each, "training")["values"][0] *= 1 + 1e-4


def _weights_not_finite(both: list[dict[str, Any]]) -> None:
    for each in both:
        _values(each, "training")["values"][0] = "nan"


def _one_weight_apart(both: list[dict[str, Any]]) -> None:
    _values(both[1], "training")["values"][0] += 1e-7


def _crash(both: list[dict[str, Any]]) -> None:
    error = {"type": "Signal", "message": "SIGSEGV", "trace": []}
    both[0]["facts"]["training"] = {"ok": False, "seconds": 1.0, "error": error}


def _stranger(both: list[dict[str, Any]]) -> None:
    error = {"step": "hello", "type": "NotAWorker", "message": "another program answered: HTTP/1.1 400"}
    both[0]["peers"][0] |= {"connected": None, "hello": None, "error": error}


def _two_of_one_port(both: list[dict[str, Any]]) -> None:
    error = {"type": "PermissionError", "message": "[Errno 13] Permission denied", "trace": []}
    both[0]["facts"]["port"] = {"ok": False, "seconds": 0.0, "error": error}


@pytest.mark.parametrize(
    ("change", "cause", "words"),
    [
        (_wrong_sum, "all-reduce-exact", "3 elements of 16 MiB"),
        (_absent_worker, "all-reduce-exact", "worker 1 had no part"),
        (_other_weights, "training-equals-one-worker", "more than 1e-05"),
        (_weights_not_finite, "training-equals-one-worker", "difference inf"),
        (_one_weight_apart, "weights-equal", "different weights"),
        (_crash, "training-equals-one-worker", "worker 0 (worker-0:29500): Signal: SIGSEGV"),
        (_stranger, "addresses-belong", "HTTP/1.1 400"),
        (_two_of_one_port, "ports-free", "use a port above 1023"),
    ],
)
def test_a_changed_result_is_found(change: Change, cause: str, words: str) -> None:
    both = deepcopy(documents(_GOOD))
    change(both)
    report = judged(*both)
    assert kinds(report)["failed"][0] == cause
    assert words in str([result.outcome for result in report.results if result.id == cause])


def test_a_rounding_is_no_difference() -> None:
    both = deepcopy(documents(_GOOD))
    for each in both:
        _values(each, "training")["values"][0] *= 1 + 1e-6
    assert judged(*both).passed


def test_one_network_namespace_proves_no_network() -> None:
    both = deepcopy(documents(_GOOD))
    both[1]["identity"]["network"] = both[0]["identity"]["network"]
    assert kinds(judged(*both))["not proven"] == ["separate-networks"]
    assert judged(*both).passed
    assert not judged(*both, require=True).passed


def test_a_release_without_the_strategy_is_not_proven() -> None:
    both = deepcopy(documents(_GOOD))
    message = "module 'tensorflow.distribute' has no attribute 'MultiWorkerMirroredStrategy'"
    for each in both:
        each["facts"]["strategy"] = {
            "ok": False,
            "seconds": 1.0,
            "error": {"type": "AttributeError", "message": message, "trace": []},
        }
    outcome = next(each.outcome for each in judged(*both).results if each.id == "cluster-forms")
    assert outcome == NotProven(reason="this release has no MultiWorkerMirroredStrategy")


def test_a_proxy_that_leaves_the_workers_out_is_not_blamed() -> None:
    both = deepcopy(documents("proxy"))
    for each in both:
        each["identity"]["exempt"] = "worker-0, worker-1"
    assert "proxy" not in problem(judged(*both))


def test_the_name_of_a_worker_that_never_came_is_no_fault_of_its_own() -> None:
    [alone] = deepcopy(documents("never"))
    alone["peers"][0]["error"] = {"step": "name", "type": "EAI_NONAME", "message": "Name or service not known"}
    report = judged(alone)
    assert kinds(report)["failed"] == ["workers-reported"]
    assert "EAI_NONAME" in problem(report)


def test_a_check_has_a_case_that_it_catches() -> None:
    caught = {cause for cause, _ in _RECORDED.values()}
    changed = {"all-reduce-exact", "training-equals-one-worker", "weights-equal", "separate-networks"}
    assert caught | changed == {check.id for check in CHECKS}


def test_an_outcome_names_what_was_seen() -> None:
    seen = {
        each.id: each.outcome.seen for each in judged(*documents(_GOOD)).results if isinstance(each.outcome, Passed)
    }
    assert seen["cluster-forms"] == "TensorFlow 2.15.1, 2 replicas on CPU"
    assert seen["separate-networks"] == "2 networks"

"""The output of workers becomes facts, also out of the log of a container."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.errors import InvalidInput, UsageError
from envbuilder.diagnostics.multi_node.facts import decode_worker, gather
from tests.unit.diagnostics.multi_node.recorded import documents

_DOCUMENT = documents("good-2.15")[0]


def test_facts_are_found_among_the_lines_of_a_log() -> None:
    log = f"2026-11-23 I tensorflow/core: started\n{{not json\n{json.dumps(_DOCUMENT)}\nworker 0: done\n"
    facts = decode_worker(log, "pod.log")
    assert (facts.origin, facts.index, facts.identity.tensorflow) == ("pod.log", 0, "2.15.1")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"kind": "probe"}, "must be multi-node-worker"),
        ({"schema": 2}, "must be multi-node-worker, schema 1"),
        ({"index": 2}, "must be below 2"),
        ({"peers": []}, "every other worker once"),
        ({"workers": "both"}, "workers"),
    ],
)
def test_another_document_is_refused_with_its_field(change: dict[str, object], problem: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        decode_worker(json.dumps(_DOCUMENT | change), "worker-0.json")
    assert problem in str(caught.value)


def test_a_log_without_facts_is_refused() -> None:
    with pytest.raises(InvalidInput, match="contains no facts of a worker"):
        decode_worker("Traceback\nKilled\n", "pod.log")


@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda data: "{" + data.decode("latin-1")))
def test_any_text_is_facts_or_our_error(text: str) -> None:
    with suppress(InvalidInput):
        decode_worker(text, "file")


def test_two_files_of_one_worker_are_refused_with_both_names() -> None:
    both = [decode_worker(json.dumps(_DOCUMENT), name) for name in ("a.json", "b.json")]
    with pytest.raises(UsageError, match=r"a\.json and b\.json are both of worker 0"):
        gather(both)


def test_no_facts_at_all_are_no_report() -> None:
    with pytest.raises(UsageError, match="no worker wrote facts"):
        gather(())

"""Clocks of nodes beside that of the collecting machine."""

from __future__ import annotations

import json

import pytest

from envbuilder.cluster.fleet.clocks import clock_differs, clock_offset
from envbuilder.cluster.fleet.collection import NodeFacts, ProbeRun
from envbuilder.diagnostics.probe.decoding import decode
from tests.fakes.hosts import host_document

RUN = ProbeRun(status=0, started=1000, ended=1010)


def node(time: float | None, run: ProbeRun | None = RUN) -> NodeFacts:
    document = json.loads(host_document(None))
    if time is not None:
        document["facts"]["clock"] = {"ok": True, "seconds": 0, "value": {"time": time, "synchronized": True}}
    return NodeFacts(node="n1", facts=decode(json.dumps(document), "n1"), run=run)


@pytest.mark.parametrize(
    ("time", "offset"), [(1000.0, 0.0), (1005.5, 0.0), (1010.9, 0.0), (990.0, -10.0), (1111.0, 100.0)]
)
def test_a_clock_within_the_run_is_right(time: float, offset: float) -> None:
    assert clock_offset(node(time)) == offset


def test_without_a_recorded_run_or_a_clock_nothing_is_known() -> None:
    assert clock_offset(node(1.0, None)) is None
    assert clock_offset(node(None)) is None
    assert list(clock_differs(node(1.0, None))) == []


@pytest.mark.parametrize(("time", "words"), [(940.0, "60 s behind"), (4611.0, "3600 s ahead of")])
def test_a_clock_that_differs_is_a_finding(time: float, words: str) -> None:
    (found,) = clock_differs(node(time))

    assert found.id == "clock-differs"
    assert words in found.message


@pytest.mark.parametrize("time", [996.0, 1005.0, 1015.0])
def test_a_few_seconds_are_none(time: float) -> None:
    assert list(clock_differs(node(time))) == []

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.errors import InvalidInput
from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.facts import NOT_ASKED, Facts, Seen
from envbuilder.diagnostics.probe.decoding import decode
from tests.unit.diagnostics.checks.cases import facts_named
from tests.unit.diagnostics.probe.test_decoding import JSON, paths, read

PATCH = Path(__file__).parents[3] / "cases" / "patches" / "two-a100.json"
ONLY = {
    name: fact for name, fact in json.loads(PATCH.read_text("utf-8"))["facts"].items() if name in {"nvml", "compute"}
}
DOCUMENT: dict[str, Any] = {"schema": 1, "seconds": 1, "facts": ONLY}
PLACES = [path for path in paths(DOCUMENT) if len(path) > 2]


def test_values_arrive() -> None:
    facts = facts_named("tf-2.20-cuda-wheels", ("two-a100",))

    assert isinstance(facts.nvml, Seen)
    assert isinstance(facts.compute, Seen)
    gpu, work = facts.nvml.value.gpus[1], facts.compute.value.gpus[1]
    assert (gpu.mig, gpu.ecc, gpu.bus, gpu.processes, gpu.capability) == (
        False,
        True,
        "00000000:3C:00.0",
        (),
        Release("8.0"),
    )
    assert facts.compute.value.runtime == Release("12.9")
    assert isinstance(work.speed, Seen)
    assert [product.size for product in work.speed.value] == [1024, 4096]


def test_facts_of_an_earlier_probe_have_no_hardware() -> None:
    facts = facts_named("tf-2.20-cuda-wheels")
    assert (facts.nvml, facts.compute) == (NOT_ASKED, NOT_ASKED)


@pytest.mark.parametrize(("shown", "meant"), [(None, None), ("", ""), ("0,1", "0,1")])
def test_nothing_visible_is_not_the_same_as_no_choice(shown: str | None, meant: str | None) -> None:
    document = copy.deepcopy(DOCUMENT)
    document["facts"]["nvml"]["value"]["visible"] = shown
    nvml = decode(json.dumps(document), "x").nvml

    assert isinstance(nvml, Seen)
    assert nvml.value.visible == meant


@given(st.sampled_from(PLACES), JSON)
def test_anything_at_any_place_gives_facts_or_our_error(place: tuple[str | int, ...], value: object) -> None:
    document: Any = copy.deepcopy(DOCUMENT)
    node = document
    for step in place[:-1]:
        node = node[step]
    node[place[-1]] = value
    assert isinstance(read(json.dumps(document)), Facts | InvalidInput)

"""The work of the gpu tier runs in real TensorFlow, on the CPU, and never under the name of a GPU."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envbuilder.diagnostics.probe.script import probe_source

pytestmark = pytest.mark.xdist_group("tensorflow")

RELEASES = ("tf-1.15-cpu", "tf-2.15-cpu")
COMPARED = ("matmul", "convolution", "convolution-gradient", "batch-norm", "rnn")


@pytest.fixture(scope="module", params=RELEASES)
def facts(
    request: pytest.FixtureRequest, python_of: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What a rehearsal says in an environment of the row."""
    row = str(request.param)
    folder = tmp_path_factory.mktemp(row)
    python = python_of(row)
    probe = folder / "probe.py"
    probe.write_bytes(probe_source())
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, probe, "--rehearse"],
        capture_output=True,
        check=False,
        timeout=600,
        env={**kept, "TMPDIR": str(folder)},
    )
    assert done.returncode == 0, done.stderr.decode()
    document: dict[str, Any] = json.loads(done.stdout)
    return {"row": row, **document["facts"]}


def work(facts: dict[str, Any], name: str) -> Any:  # noqa: ANN401  any JSON
    [only] = facts[f"rehearsal-{name}"]["value"]
    assert only["asked"] == "/CPU:0"
    assert only["work"]["ok"], only["work"]
    return only["work"]["value"]


def test_no_fact_of_a_rehearsal_has_the_name_of_a_fact_of_a_gpu(facts: dict[str, Any]) -> None:
    assert all(name.startswith("rehearsal-") for name in facts if name != "row")


@pytest.mark.parametrize("name", COMPARED)
def test_an_operation_is_placed_and_compared(facts: dict[str, Any], name: str) -> None:
    operation = work(facts, "operations")[name]["value"]

    assert operation["on_device"]
    assert operation["operations"]
    assert operation["relative"] < 1e-6


def test_a_training_learns_and_a_first_kernel_is_timed(facts: dict[str, Any]) -> None:
    training, first = work(facts, "training"), work(facts, "first")

    assert training["last"] < training["first"]
    assert training["steps"] == 30
    assert first["first_seconds"] > first["second_seconds"] > 0


def test_xla_compiles_and_mixed_precision_is_near(facts: dict[str, Any]) -> None:
    compiled, mixed = work(facts, "xla"), work(facts, "mixed")

    assert compiled["compiled"]
    assert compiled["relative"] < 1e-6
    assert all(mixed[name]["value"]["relative"] < 1e-2 for name in ("matmul", "convolution"))


def test_speed_has_figures(facts: dict[str, Any]) -> None:
    latency, rates = work(facts, "latency"), work(facts, "throughput")

    assert latency["samples"] >= 300
    assert 0 < latency["median_us"] <= latency["p99_us"]
    assert all(0 < rate["value"]["median_tflops"] <= rate["value"]["best_tflops"] for rate in rates.values())


def test_an_impossible_block_is_refused_and_the_process_goes_on(facts: dict[str, Any]) -> None:
    memory = work(facts, "memory")

    assert not memory["impossible"]["given"]
    assert "OOM" in memory["impossible"]["error"]
    assert memory["after"]["given"]
    assert memory["fragmented"]["given"]
    assert memory["right_after"]


def test_functions_and_sums_are_where_the_release_has_them(facts: dict[str, Any]) -> None:
    [function] = facts["rehearsal-function"]["value"]
    together = facts["rehearsal-all-reduce"]

    if facts["row"].startswith("tf-1."):
        assert function["work"]["error"]["type"] == "NotInRelease"
        assert "NcclAllReduce" in together["error"]["message"]
    else:
        assert function["work"]["value"]["relative"] == 0
        assert [each["largest"] for each in together["value"]["replicas"]] == [3.0, 3.0]

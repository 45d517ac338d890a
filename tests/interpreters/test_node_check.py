"""The check of a node: its outcomes for facts of made-up nodes, equal to those of the judge, in every Python."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.catalog.node_requirements import RUNS, document
from envbuilder.catalog.verdicts import Stack
from envbuilder.cluster.jobs import node_check_source
from tests.interpreters.interpreters import interpreters
from tests.unit.cluster.made_nodes import STACKS, MadeNode, named_nodes, nodes, requirements_of

CHECK: Any = import_module("envbuilder.incontainer.node_check")
GPU_IMAGE = next(each for each in STACKS if each.environment == "tf-2.15-cuda12.2")
CPU_IMAGE = next(each for each in STACKS if each.need is None)
Outcomes = list[tuple[str, str, str, str]]


def seen(value: object) -> dict[str, object]:
    return {"ok": True, "value": value, "seconds": 0.0}


def facts(
    gpus: Sequence[tuple[str, str]] = (),
    driver: str | None = "535.104.05",
    *,
    avx: bool | None = True,
    machine: str = "x86_64",
    interface: Mapping[str, object] | None = None,
    more: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """Facts of a node with GPUs by name and capability."""
    told: dict[str, object] = {
        "loadable": driver is not None,
        "error": "" if driver else "libcuda.so.1: cannot open shared object file",
        "path": "/usr/lib/libcuda.so.1",
        "init": {"code": 0 if gpus else 100, "name": "" if gpus else "CUDA_ERROR_NO_DEVICE"},
        "gpus": [{"index": 0, "error": "", "name": name, "capability": capability} for name, capability in gpus],
        **(interface or {}),
    }
    return {
        "schema": 1,
        "facts": {
            "interpreter": seen({"machine": machine}),
            "machine": seen({"cpu": {"avx": avx}}),
            "driver": seen({"module": {"release": driver}, "interface": seen(told), "library": None}),
            **(more or {}),
        },
    }


def outcomes(image: Stack, found: dict[str, Any], count: int = 0) -> Outcomes:
    return list(CHECK.outcomes(document(requirements_of(image)), found, count))


V100 = ("Tesla V100-SXM2-16GB", "7.0")
TENSORFLOW = {"tensorflow-import": seen({"version": "2.15.1"})}
ON_GPU = {
    **TENSORFLOW,
    "tensorflow-devices": seen([{"name": "CPU:0", "type": "CPU"}, {"name": "GPU:0", "type": "GPU"}]),
}
ON_CPU = {**TENSORFLOW, "tensorflow-devices": seen([{"name": "CPU:0", "type": "CPU"}])}
UNSEEN = {"ok": False, "error": {"type": "TimedOut", "message": "no answer"}, "seconds": 90.0}

CASES = {
    "fits": (GPU_IMAGE, facts([V100], more=ON_GPU), 1, "passed", "driver-floor", "(7.0) with driver 535"),
    "driver too old": (
        GPU_IMAGE,
        facts([V100], "470.82.01"),
        1,
        "failed",
        "driver-floor",
        "it needs 525.60.13 or later",
    ),
    "driver too new": (GPU_IMAGE, facts([V100], "590.44.01"), 1, "failed", "driver-floor", "before 581"),
    "driver too old for all, and no GPU": (
        GPU_IMAGE,
        facts((), "470.256.02"),
        1,
        "failed",
        "driver-floor",
        "every GPU",
    ),
    "no GPU passed": (GPU_IMAGE, facts(), 1, "failed", "driver-present", "CUDA_ERROR_NO_DEVICE"),
    "no driver": (GPU_IMAGE, facts((), None), 1, "failed", "driver-present", "cannot open shared object file"),
    "stub": (GPU_IMAGE, facts([V100], interface={"stub": True}), 1, "failed", "driver-present", "is not a driver"),
    "GPU too old": (
        GPU_IMAGE,
        facts([("Tesla K80", "3.7")]),
        1,
        "failed",
        "gpu-architecture-covered",
        "dropped this GPU",
    ),
    "GPU not proven": (GPU_IMAGE, facts([("B200", "10.0")]), 1, "not proven", "gpu-architecture-covered", "not proven"),
    "GPU unknown": (GPU_IMAGE, facts([("Orin", "8.7")]), 1, "not proven", "gpu-architecture-covered", "no data"),
    "release unknown": (
        GPU_IMAGE,
        facts([V100], "", interface={"loadable": True}),
        1,
        "not proven",
        "driver-floor",
        "not known",
    ),
    "fewer GPUs": (GPU_IMAGE, facts([V100]), 2, "failed", "gpu-count", "1 of 2"),
    "TensorFlow on the processor": (
        GPU_IMAGE,
        facts([V100], more=ON_CPU),
        1,
        "failed",
        "gpu-visible-to-tensorflow",
        "0 of 1",
    ),
    "TensorFlow does not import": (
        CPU_IMAGE,
        facts(more={"tensorflow-import": UNSEEN}),
        0,
        "failed",
        "tensorflow-imports",
        "no answer",
    ),
    "devices not seen": (
        GPU_IMAGE,
        facts([V100], more={**TENSORFLOW, "tensorflow-devices": UNSEEN}),
        1,
        "not proven",
        "gpu-visible-to-tensorflow",
        "no answer",
    ),
    "no AVX": (CPU_IMAGE, facts(avx=False), 0, "failed", "cpu-avx", "lacks"),
    "AVX unknown": (CPU_IMAGE, facts(avx=None), 0, "not proven", "cpu-avx", "not known"),
    "Arm": (CPU_IMAGE, facts(machine="aarch64"), 0, "failed", "cpu-architecture", "this node is aarch64"),
    "TensorFlow not looked at": (CPU_IMAGE, facts(), 0, "not proven", "tensorflow-imports", "do not say"),
    "processor unknown": (
        CPU_IMAGE,
        facts(more={"interpreter": UNSEEN}),
        0,
        "not proven",
        "cpu-architecture",
        "TimedOut: no answer",
    ),
    "CPU image": (CPU_IMAGE, facts((), None, more=ON_CPU), 0, "passed", "tensorflow-imports", "TensorFlow imports"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_node_gets_its_outcome(case: tuple[Stack, dict[str, Any], int, str, str, str]) -> None:
    image, found, count, outcome, check, text = case

    matching = [each for each in outcomes(image, found, count) if each[0] == check]

    assert [(each[1], text in each[2]) for each in matching] == [(outcome, True)]


def test_a_node_that_fits_has_no_other_outcome_than_passed() -> None:
    assert {outcome for _, outcome, _, _ in outcomes(GPU_IMAGE, facts([V100], more=ON_GPU), 1)} == {"passed"}


@given(st.sampled_from([each for each in STACKS if each.need]), st.one_of(nodes, named_nodes))
def test_the_check_passes_exactly_where_the_judge_accepts(image: Stack, node: MadeNode) -> None:
    found = facts([(node.product, node.capability)], str(node.release), avx=node.avx, more=ON_GPU)

    passed = all(outcome == "passed" for _, outcome, _, _ in outcomes(image, found))

    assert passed == node.is_accepted(image, RUNS)


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_every_python_prints_the_finding_and_ends_with_its_status(python: Path, tmp_path: Path) -> None:
    (tmp_path / "node-check.py").write_text(node_check_source(), encoding="utf-8")
    (tmp_path / "requirements.json").write_text(json.dumps(document(requirements_of(GPU_IMAGE))), encoding="utf-8")
    (tmp_path / "facts.json").write_text(json.dumps(facts([V100], "470.82.01")), encoding="utf-8")
    command = [str(python), "node-check.py", "--facts", "facts.json", "--name", "n1", "--save", str(tmp_path)]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (1, "")
    assert "n1: failed: driver-floor: driver 470.82.01 does not run this image on Tesla V100" in done.stdout
    assert done.stdout.endswith("n1: tf-2.15-cuda12.2 does not run here\n")
    assert json.loads((tmp_path / "n1.json").read_text(encoding="utf-8")) == facts([V100], "470.82.01")

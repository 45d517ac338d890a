"""Real driver libraries of Debian and a real CUDA runtime: which pairs start, on a machine without a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from envbuilder.core.versions import Release
from envbuilder.diagnostics.checks.results import Failed, NotProven, Passed
from envbuilder.diagnostics.checks.table import CHECKS
from envbuilder.diagnostics.facts.facts import Facts, Seen
from envbuilder.diagnostics.facts.hardware import Compute
from envbuilder.diagnostics.probe.decoding import decode
from tests.e2e.debian_drivers import driver_libraries
from tests.interpreters.joined import probe_file
from tests.unit.diagnostics.checks.expectations import TF_2_20

BY_ID = {check.id: check for check in CHECKS}
DRIVERS = {"bullseye": Release("470.256.02"), "bookworm": Release("535")}
"""Suite to the driver in its `non-free`: bullseye's is final, bookworm's moves within its branch."""
RUNTIME = "nvidia-cuda-runtime-cu12==12.9.79"


@pytest.fixture(scope="module")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folder with `libcuda.so.1` of each suite; nothing is installed."""
    return driver_libraries(tmp_path_factory.mktemp("debian"), dict.fromkeys(DRIVERS, "libcuda1"))


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with libcudart.so.12."""
    target = tmp_path_factory.mktemp("runtime")
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([str(uv), "pip", "install", "--no-deps", "--target", str(target), RUNTIME], check=True)
    return next(target.rglob("libcudart.so.12")).parent


def look(folder: Path, *libraries: Path) -> Facts:
    request = folder / "request.json"
    request.write_text(json.dumps({"schema": 1, "sonames": ["libcudart.so.12"]}), "utf-8")
    done = subprocess.run(
        [sys.executable, str(probe_file()), "--hardware", "--request", str(request)],
        capture_output=True, check=True, timeout=120,
        env={**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, libraries))},
    )  # fmt: skip
    return decode(done.stdout, "probe")


def computed(facts: Facts) -> Compute:
    assert isinstance(facts.compute, Seen)
    return facts.compute.value


def test_a_driver_of_an_older_family_is_refused_by_the_runtime(
    drivers: dict[str, Path], runtime: Path, tmp_path: Path
) -> None:
    facts = look(tmp_path, drivers["bullseye"], runtime)
    compute = computed(facts)
    refused, floor = (BY_ID[name].examine(TF_2_20, facts) for name in ("cublas-result-right", "driver-floor"))

    assert (compute.runtime, compute.driver, compute.gpus) == (Release("12.9"), Release("11.4"), ())
    assert compute.error.startswith("cudaGetDeviceCount: 35 cudaErrorInsufficientDriver")
    assert isinstance(refused, Failed)
    assert "refuses this driver" in refused.finding.message
    assert isinstance(floor, Failed)
    assert "driver 470.256.02 is too old: it needs 525.60.13" in floor.finding.message


def test_an_older_driver_of_the_same_family_gets_as_far_as_the_missing_gpu(
    drivers: dict[str, Path], runtime: Path, tmp_path: Path
) -> None:
    facts = look(tmp_path, drivers["bookworm"], runtime)
    compute = computed(facts)
    unproven, floor = (BY_ID[name].examine(TF_2_20, facts) for name in ("cublas-result-right", "driver-floor"))

    assert (compute.runtime, compute.driver) == (Release("12.9"), Release("12.2"))
    assert compute.error.startswith("cudaGetDeviceCount: 100 cudaErrorNoDevice")
    assert isinstance(unproven, NotProven)
    assert isinstance(floor, Passed)
    assert "minor-version compatibility" in floor.seen


@pytest.mark.parametrize("suite", DRIVERS)
def test_a_real_driver_library_is_no_stub(suite: str, drivers: dict[str, Path], runtime: Path, tmp_path: Path) -> None:
    facts = look(tmp_path, drivers[suite], runtime)

    assert computed(facts).stub is False
    assert isinstance(facts.driver, Seen)
    assert facts.driver.value.library is not None
    assert facts.driver.value.library.major == DRIVERS[suite].major

"""Driver, NVML and CUDA's libraries without a framework, on fake libraries that compute on the processor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from envbuilder.diagnostics.facts.facts import Seen
from envbuilder.diagnostics.probe.decoding import decode
from tests.fakes.cuda_libraries import STACK, compile_fake, compile_stack
from tests.interpreters.interpreters import interpreters
from tests.interpreters.joined import probe_command

PYTHONS = interpreters()
OPERATIONS = ("memory", "matmul", "convolution", "speed")
LOOK_ONLY = {"compute": False}
"""A request of tests of the management library: without the work on the GPU, which takes most of the time."""

# The timed products take blocks of 64 MiB: a process that keeps them does not get their pages anew (mallopt(3)).
_ALLOCATION = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 32)}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_stack(tmp_path_factory.mktemp("cuda"))


def look(
    libraries: Path, request: Mapping[str, object] | None = None, *, python: Path = Path(sys.executable), **environ: str
) -> dict[str, Any]:
    """Facts by name of `probe.py --hardware`."""
    command = [*probe_command(python), "--hardware"]
    dropped = {"PYTHONPATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES"}
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    if request is not None:
        asked = libraries / "request.json"
        asked.write_text(json.dumps({"schema": 1, **request}), "utf-8")
        command += ["--request", str(asked)]
    environment = {**kept, **_ALLOCATION, "LD_LIBRARY_PATH": str(libraries), **environ}
    done = subprocess.run(command, capture_output=True, check=False, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr.decode()
    decode(done.stdout, "probe")
    facts: dict[str, Any] = json.loads(done.stdout)["facts"]
    return facts


def gpu_of(facts: dict[str, Any], index: int = 0) -> dict[str, Any]:
    gpu: dict[str, Any] = facts["compute"]["value"]["gpus"][index]
    return gpu


def ok(facts: dict[str, Any], index: int = 0) -> dict[str, bool]:
    return {name: gpu_of(facts, index)[name]["ok"] for name in OPERATIONS}


@pytest.mark.parametrize("python", PYTHONS, ids=[path.parent.parent.name for path in PYTHONS])
def test_every_interpreter_computes(python: Path, stack: Path) -> None:
    facts = look(stack, python=python)
    compute, gpu = facts["compute"]["value"], gpu_of(facts)

    assert (compute["runtime"], compute["driver"], compute["count"], compute["stub"]) == ("12.4", "12.4", 1, False)
    assert {name: seen["soname"] for name, seen in compute["libraries"].items()} == {
        "cudart": STACK[0], "cublas": STACK[1], "cudnn": STACK[2],
    }  # fmt: skip
    assert gpu["matmul"]["value"] == {"difference": 0.0, "shape": [48, 64, 80]}
    assert gpu["convolution"]["value"]["difference"] == 0.0
    assert [each["size"] for each in gpu["speed"]["value"]["products"]] == [1024, 4096]
    assert all(each["equal"] and each["teraflops"] > 0 for each in gpu["speed"]["value"]["products"])
    assert gpu["memory"]["value"] == {
        "free": (1 << 33) - (1 << 28),
        "total": 1 << 33,
        "equal": True,
        "bus": "0000:3B:00.0",
    }
    assert gpu["speed"]["value"]["free"] == (1 << 33) - (1 << 28), "all memory was given back"
    assert set(facts) == {
        "interpreter", "machine", "libraries", "driver", "loader", "software", "cudnn-start", "nvml", "compute", "host",
        "clock", "directories", "network", "scheduler", "user-namespaces",
    }  # fmt: skip


def test_memory_is_given_back_after_a_failure_too(stack: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    facts = look(stack, FAKE_CUDA="status-matmul", FAKE_NOTES=str(notes))

    assert gpu_of(facts)["matmul"]["error"]["message"] == "cublasSgemm_v2: 13 CUBLAS_STATUS_EXECUTION_FAILED"
    lines = notes.read_text("utf-8").splitlines()
    assert lines.count("take") == lines.count("give") > 0


@pytest.mark.parametrize(("fault", "timed"), [("wrong-matmul", False), ("turned-matmul", True)])
def test_a_wrong_number_in_a_product_is_seen(fault: str, timed: bool, stack: Path) -> None:
    gpu = gpu_of(look(stack, FAKE_CUDA=fault))

    assert gpu["matmul"]["value"]["difference"] >= 1
    assert [each["equal"] for each in gpu["speed"]["value"]["products"]] == [timed, timed], (
        "all of its numbers are alike"
    )


def test_a_product_that_was_never_written_is_no_number(stack: Path) -> None:
    assert gpu_of(look(stack, FAKE_CUDA="nothing-matmul"))["matmul"]["value"]["difference"] == "nan"


def test_windows_that_were_turned_are_seen(stack: Path) -> None:
    facts = look(stack, FAKE_CUDA="wrong-convolution")

    assert gpu_of(facts)["convolution"]["value"]["difference"] >= 1
    assert gpu_of(facts)["matmul"]["value"]["difference"] == 0


def test_a_crash_in_a_product_silences_nothing_else(stack: Path) -> None:
    facts = look(stack, FAKE_CUDA="crash-matmul", FAKE_GPUS="2")

    assert gpu_of(facts)["matmul"]["error"]["message"] == "SIGABRT"
    assert ok(facts, 0) == ok(facts, 1) == {"memory": True, "matmul": False, "convolution": True, "speed": False}


def test_a_hang_in_a_convolution_costs_its_budget(stack: Path) -> None:
    facts = look(stack, {"budgets": {"compute-convolution": 1}}, FAKE_CUDA="hang-convolution")

    assert gpu_of(facts)["convolution"]["error"]["message"] == "no answer after 1 s"
    assert ok(facts) == {"memory": True, "matmul": True, "convolution": False, "speed": True}


def test_a_process_that_cuda_refuses_everything_to_is_left(stack: Path) -> None:
    facts = look(stack, FAKE_CUDA="poison-matmul")

    assert "13 CUBLAS_STATUS_EXECUTION_FAILED" in gpu_of(facts)["matmul"]["error"]["message"]
    assert gpu_of(facts)["convolution"]["value"]["difference"] == 0


def test_no_memory_is_named(stack: Path) -> None:
    facts = look(stack, FAKE_CUDA="no-memory")
    assert gpu_of(facts)["memory"]["error"]["message"] == "cudaMalloc: 2 cudaErrorMemoryAllocation: out of memory"


def test_a_failing_convolution_is_named(stack: Path) -> None:
    facts = look(stack, FAKE_CUDA="status-convolution")
    message = gpu_of(facts)["convolution"]["error"]["message"]
    assert message == "cudnnConvolutionForward: 8 CUDNN_STATUS_EXECUTION_FAILED"


def test_a_driver_too_old_for_the_runtime_is_named(stack: Path) -> None:
    compute = look(stack, FAKE_CUDA_VERSION="11040")["compute"]["value"]

    assert (compute["runtime"], compute["driver"], compute["count"], compute["gpus"]) == ("12.4", "11.4", None, [])
    assert compute["error"].startswith("cudaGetDeviceCount: 35 cudaErrorInsufficientDriver")


def test_nothing_is_computed_behind_a_stub(tmp_path: Path) -> None:
    compute = look(compile_stack(tmp_path, driver=("-DSTUB",)))["compute"]["value"]

    assert (compute["stub"], compute["count"], compute["gpus"]) == (True, None, [])
    assert "stub" in compute["error"]


def test_a_library_that_is_not_there_silences_only_its_own_work(tmp_path: Path) -> None:
    (compile_stack(tmp_path) / "libcudnn.so.9").unlink()
    facts = look(tmp_path, {"sonames": ["libcudart.so.12", "libcublas.so.12", "libcudnn.so.9"]})

    assert gpu_of(facts)["convolution"]["error"]["type"] == "NoLibrary"
    assert "libcudnn.so.9: cannot open" in gpu_of(facts)["convolution"]["error"]["message"]
    assert ok(facts) == {"memory": True, "matmul": True, "convolution": False, "speed": True}


def test_the_libraries_of_the_request_are_the_ones_that_compute(tmp_path: Path) -> None:
    compile_stack(tmp_path)
    compile_fake(
        tmp_path, "cudart", "libcudart.so.11.0",
        "-DRUNTIME=11080", f"-L{tmp_path}", "-Wl,--no-as-needed", "-l:libcuda.so.1",
    )  # fmt: skip
    asked = {"sonames": ["libcudart.so.11.0", "libcublas.so.12", "libcudnn.so.9"]}

    assert look(tmp_path, asked)["compute"]["value"]["runtime"] == "11.8"
    assert look(tmp_path)["compute"]["value"]["runtime"] == "12.4", "without a request the newest"


def test_libraries_of_wheels_are_found_without_tensorflow(tmp_path: Path) -> None:
    libraries = compile_stack(tmp_path)
    folder = tmp_path / "site" / "nvidia" / "cublas" / "lib"
    folder.mkdir(parents=True)
    (libraries / "libcublas.so.12").rename(folder / "libcublas.so.12")
    facts = look(libraries, PYTHONPATH=str(tmp_path / "site"))

    assert facts["compute"]["value"]["libraries"]["cublas"]["path"] == str(folder / "libcublas.so.12")
    assert gpu_of(facts)["matmul"]["value"]["difference"] == 0


def test_nvml_tells_every_attribute(stack: Path) -> None:
    nvml = look(stack, LOOK_ONLY, CUDA_VISIBLE_DEVICES="0")["nvml"]["value"]
    gpu = nvml["gpus"][0]

    assert (nvml["driver"], nvml["version"], nvml["visible"], nvml["stub"]) == ("550.54.15", "12.550.54.15", "0", False)
    assert gpu["memory"] == {
        "total": 1 << 33,
        "used": 1 << 28,
        "free": (1 << 33) - (1 << 28) - (1 << 20),
        "reserved": 1 << 20,
    }
    assert gpu["processes"] == [{"pid": 77, "memory": None}, {"pid": 4242, "memory": 1 << 28}]
    names = ("name", "uuid", "capability", "ecc", "persistence", "compute_mode", "bus")
    assert {name: gpu[name] for name in names} == {
        "name": "Fake GPU", "uuid": "GPU-00000000", "capability": "9.0", "ecc": "on", "persistence": "on",
        "compute_mode": "exclusive-process", "bus": "00000000:3B:00.0",
    }  # fmt: skip
    assert (gpu["mig"], gpu["errors"]) == (None, {"mig": "3 Not Supported"})


def test_a_gpu_that_is_lost_does_not_hide_the_others(stack: Path) -> None:
    gpus = look(stack, LOOK_ONLY, FAKE_NVML="lost", FAKE_GPUS="2")["nvml"]["value"]["gpus"]

    assert gpus[0]["errors"] == {"handle": "15 GPU is lost"}
    assert (gpus[0]["name"], gpus[1]["name"]) == (None, "Fake GPU")


def test_mig_devices_are_counted(stack: Path) -> None:
    gpu = look(stack, LOOK_ONLY, FAKE_NVML="mig")["nvml"]["value"]["gpus"][0]
    assert (gpu["mig"], gpu["instances"]) == ("on", 2)


def test_a_management_library_of_another_release_than_the_module_is_named(stack: Path) -> None:
    nvml = look(stack, LOOK_ONLY, FAKE_NVML="mismatch")["nvml"]["value"]
    assert (nvml["init"], nvml["gpus"]) == ({"code": 18, "name": "Driver/library version mismatch"}, [])


def test_an_old_management_library_is_asked_in_its_own_way(tmp_path: Path) -> None:
    compile_fake(tmp_path, "nvml", "libnvidia-ml.so.1", "-DOLD")
    gpu = look(tmp_path)["nvml"]["value"]["gpus"][0]

    assert gpu["memory"] == {"total": 1 << 33, "used": 1 << 28, "free": (1 << 33) - (1 << 28), "reserved": None}
    assert [each["pid"] for each in gpu["processes"]] == [77, 4242]
    assert {"mig", "bus", "capability"} <= set(gpu["errors"])


def test_without_any_library_the_reasons_are_facts(tmp_path: Path) -> None:
    facts = look(tmp_path, {"sonames": ["libcudart.so.12"]})

    assert "libnvidia-ml.so.1: cannot open" in facts["nvml"]["value"]["error"]
    assert "libcudart.so.12: cannot open" in facts["compute"]["value"]["error"]
    assert facts["compute"]["value"]["gpus"] == []


def test_hardware_is_looked_at_only_where_it_is_asked(stack: Path, tmp_path: Path) -> None:
    for request, there in (({}, False), ({"gpu": True}, True), ({"gpu": True, "hardware": False}, False)):
        asked = tmp_path / "request.json"
        asked.write_text(json.dumps({"schema": 1, "train": False, **request}), "utf-8")
        done = subprocess.run(
            [*probe_command(), "--request", str(asked)],
            capture_output=True, check=True, timeout=120, env={**os.environ, "LD_LIBRARY_PATH": str(stack)},
        )  # fmt: skip
        facts = decode(done.stdout, "probe")
        assert isinstance(facts.nvml, Seen) is isinstance(facts.compute, Seen) is there

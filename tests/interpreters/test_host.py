"""The host around the driver, as the probe sees it."""

from __future__ import annotations

import importlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.facts import Facts, Seen
from envbuilder.diagnostics.facts.host import HostFacts
from envbuilder.diagnostics.probe.decoding import decode
from tests.fakes.cuda_libraries import compile_fake
from tests.interpreters.interpreters import interpreters
from tests.interpreters.joined import probe_command

# The probe has no annotations.
host: Any = importlib.import_module("envbuilder.incontainer.probe.host")
PYTHONS = interpreters()
SMI = """#!/bin/sh
case "$1" in
  *compute_cap*) {capability} ;;
  *) {answer} ;;
esac
"""
ROW = "echo 'Tesla T4, 535.183.01, 15360, 15000'"


def answer(libraries: Path, *, python: Path = Path(sys.executable), **environ: str) -> bytes:
    """What `probe.py --hardware` writes with libraries of a folder and these variables."""
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", *host.HOST_VARIABLES}}
    done = subprocess.run(
        [*probe_command(python), "--hardware"],
        capture_output=True, check=True, timeout=120, env={**kept, "LD_LIBRARY_PATH": str(libraries), **environ},
    )  # fmt: skip
    return done.stdout


def look(libraries: Path, *, python: Path = Path(sys.executable), **environ: str) -> Facts:
    return decode(answer(libraries, python=python, **environ), "probe")


def host_of(facts: Facts) -> HostFacts:
    assert isinstance(facts.host, Seen)
    return facts.host.value


def smi(folder: Path, answer: str, capability: str = "echo 7.5") -> str:
    """A PATH on which `nvidia-smi` answers so."""
    program = folder / "nvidia-smi"
    program.write_text(SMI.format(answer=answer, capability=capability), encoding="utf-8")
    program.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.parametrize("python", PYTHONS, ids=[path.parent.parent.name for path in PYTHONS])
def test_every_interpreter_sees_the_host(python: Path, tmp_path: Path) -> None:
    seen = host_of(look(tmp_path, python=python, PATH=smi(tmp_path, ROW), TF_GPU_ALLOCATOR="x"))

    assert seen.disks[0].path == "/"
    assert all(0 <= disk.free <= disk.total for disk in seen.disks)
    assert seen.memory_available
    assert isinstance(seen.nodes, Seen)
    assert {"/dev/nvidiactl", "/dev/nvidia-uvm"} <= {node.path for node in seen.nodes.value}
    assert seen.variables == (("LD_LIBRARY_PATH", str(tmp_path)), ("TF_GPU_ALLOCATOR", "x"))
    assert seen.smi
    assert [gpu.name for gpu in seen.smi] == ["Tesla T4"]


def test_no_other_variable_is_written_down(tmp_path: Path) -> None:
    done = subprocess.run(
        [*probe_command(), "--hardware"], capture_output=True, check=True, timeout=120,
        env={**os.environ, "API_TOKEN": "hunter2", "HTTPS_PROXY": "http://me:hunter2@127.0.0.1:1"},
    )  # fmt: skip
    assert b"hunter2" not in done.stdout


def test_nvidia_smi_is_asked_only_when_nothing_else_tells(tmp_path: Path) -> None:
    compile_fake(tmp_path, "nvml", "libnvidia-ml.so.1")
    assert host_of(look(tmp_path, PATH=smi(tmp_path, ROW))).smi is None
    assert host_of(look(tmp_path, PATH=smi(tmp_path, ROW), FAKE_NVML="mismatch")).smi is not None


def test_nvidia_smi_tells_the_gpus(tmp_path: Path) -> None:
    seen = host_of(look(tmp_path, PATH=smi(tmp_path, ROW))).smi
    assert seen
    gpu = seen[0]
    assert (gpu.driver, gpu.capability) == (Release("535.183.01"), Release("7.5"))
    assert (gpu.memory, gpu.free) == (15360 << 20, 15000 << 20)


def test_an_old_nvidia_smi_knows_no_capability(tmp_path: Path) -> None:
    refused = "echo 'Field \"compute_cap\" is not a valid field to query.'; exit 2"
    seen = host_of(look(tmp_path, PATH=smi(tmp_path, ROW, refused))).smi
    assert seen
    assert [gpu.capability for gpu in seen] == [None]


def test_an_nvidia_smi_that_fails_is_quoted(tmp_path: Path) -> None:
    words = "NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver"
    document = answer(tmp_path, PATH=smi(tmp_path, f"echo {words}; exit 9"))
    seen = json.loads(document)["facts"]["host"]["value"]["smi"]
    assert (seen["status"], seen["said"], seen["gpus"]) == (9, [words], [])
    assert host_of(decode(document, "probe")).smi == ()


def test_a_program_that_never_ends_costs_its_limit() -> None:
    # Had it been waited for, it would have ended with status 0.
    assert host.said_by(["sleep", "30"], 0.2) == (None, [])


def test_a_file_in_the_place_of_a_device_is_none(tmp_path: Path) -> None:
    file = tmp_path / "nvidia0"
    file.write_text("x", encoding="utf-8")
    assert host.opened_node(str(file))["error"] == "no device"
    assert host.opened_node(str(tmp_path / "nothing"))["error"] == "ENOENT"


def test_a_device_that_may_be_opened_is_opened() -> None:
    assert host.opened_node("/dev/null") == {
        "path": "/dev/null", "present": True, "opened": True, "error": "",
        "mode": f"{stat.S_IMODE(Path('/dev/null').stat().st_mode):o}",
    }  # fmt: skip


def test_processes_have_the_names_that_this_user_can_see() -> None:
    gone = 2**22 + 1
    nvml = {"value": {"gpus": [{"processes": [{"pid": os.getpid()}, {"pid": gone}]}, {"processes": None}]}}
    named = {each["pid"]: each["name"] for each in host.named_processes(nvml)}
    own = Path("/proc/self/comm").read_text(encoding="utf-8").strip()
    assert named == {os.getpid(): own if host.sees_all_processes() is not False else None, gone: None}


def test_a_file_system_that_is_not_there_has_no_size(tmp_path: Path) -> None:
    assert host.free_disk(str(tmp_path / "nothing")) is None


def test_errors_of_memory_arrive(tmp_path: Path) -> None:
    compile_fake(tmp_path, "nvml", "libnvidia-ml.so.1")
    facts = look(tmp_path, FAKE_NVML="worn", FAKE_GPUS="2")
    assert isinstance(facts.nvml, Seen)
    worn, sound = facts.nvml.value.gpus
    assert (worn.uncorrected, worn.rows_pending, worn.rows_failed) == (3, True, False)
    assert (sound.uncorrected, sound.rows_pending, sound.rows_failed) == (0, False, False)

"""This host at a glance: the driver's own files, and the quick parts of the probe."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from envbuilder.diagnostics.facts.facts import NOT_ASKED, Seen
from envbuilder.diagnostics.probe.this_host import is_windows_subsystem, quick_facts, quick_host

CLOSED = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  450.51.06  Sun Jul 19 20:02:54 UTC 2020\nGCC version:  gcc 9\n"
)
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.104.05  Release Build  (root@host)\n"


def driver(root: Path, version: str, *models: str) -> Path:
    folder = root / "proc" / "driver" / "nvidia"
    folder.mkdir(parents=True)
    (folder / "version").write_text(version, encoding="utf-8")
    for index, model in enumerate(models):
        gpu = folder / "gpus" / f"0000:0{index}:00.0"
        gpu.mkdir(parents=True)
        (gpu / "information").write_text(f"Model: \t\t {model}\nIRQ:   \t\t 11\n", encoding="utf-8")
    return root


@pytest.mark.parametrize(("text", "release"), [(CLOSED, "450.51.06"), (OPEN, "535.104.05")])
def test_driver_and_gpus_are_read_from_the_files_of_the_kernel_module(tmp_path: Path, text: str, release: str) -> None:
    host = quick_host(driver(tmp_path, text, "Tesla K80", "Tesla K80"))
    assert host is not None
    assert (str(host.driver), [gpu.name for gpu in host.gpus or ()]) == (release, ["Tesla K80", "Tesla K80"])


def test_a_driver_whose_gpus_nobody_shows_has_unknown_gpus(tmp_path: Path) -> None:
    host = quick_host(driver(tmp_path, CLOSED))
    assert host is not None
    assert host.gpus is None


@pytest.mark.parametrize("text", ["", "NVRM version: something else\n"])
def test_without_a_driver_there_is_nothing_to_say(tmp_path: Path, text: str) -> None:
    assert quick_host(tmp_path) is None
    assert quick_host(driver(tmp_path, text)) is None


_COUNTING = """
import sys
from pathlib import Path
from envbuilder.diagnostics.probe.this_host import quick_host
seen = []
sys.addaudithook(lambda event, _: seen.append(event))
quick_host(Path(sys.argv[1]))
print(seen.count("open"), *{event for event in seen if event.split(".")[0] in {"subprocess", "socket", "ctypes"}})
"""


def test_a_glance_before_every_build_reads_two_files_and_one_for_each_gpu(tmp_path: Path) -> None:
    root = driver(tmp_path, CLOSED, *["Tesla K80"] * 9)
    done = subprocess.run([sys.executable, "-c", _COUNTING, str(root)], capture_output=True, text=True, check=True)
    opened, *started = done.stdout.split()
    assert int(opened) <= 11
    assert not started, "no program, no network, no library"


def test_windows_brings_its_gpus_another_way(tmp_path: Path) -> None:
    assert not is_windows_subsystem(tmp_path)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "dxg").touch()
    assert is_windows_subsystem(tmp_path)


def test_the_quick_parts_of_the_probe_see_this_host_and_nothing_of_tensorflow() -> None:
    facts = quick_facts()
    assert isinstance(facts.machine, Seen)
    assert facts.machine.value.memory
    assert isinstance(facts.driver, Seen)
    assert isinstance(facts.nvml, Seen)
    assert (facts.imported, facts.compute) == (NOT_ASKED, NOT_ASKED)

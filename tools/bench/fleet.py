"""How long a fleet of a thousand nodes is judged, and in how much memory; facts are those of this machine, varied."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from envbuilder.diagnostics.doctor import HARDWARE
from envbuilder.diagnostics.probe.requests import launch
from tests.fakes.fleets import write_fleet
from tools.bench.measuring import Figures

NODES = 1000
IMAGES = ("--environment", "tf-2.15*", "--environment", "tf-2.4-cuda11.0")
_CHECK = "from envbuilder.cli.main import entry; entry()"


def measure_fleet(figures: Figures, work: Path) -> None:
    """Judge a fleet of six kinds of nodes; one with a machine of its own in each node; and one with an earlier copy."""
    with tempfile.TemporaryDirectory(dir=work) as name:
        folder = Path(name)
        real: dict[str, Any] = json.loads(
            subprocess.run(launch(sys.executable, HARDWARE), stdout=-1, check=True).stdout
        )
        write_fleet(folder / "kinds", NODES, real)
        write_fleet(folder / "singles", NODES, real)
        for number, file in enumerate(sorted((folder / "singles").glob("*.json"))):
            document = json.loads(file.read_text(encoding="utf-8"))
            for gpu in document["facts"]["nvml"]["value"]["gpus"]:
                gpu["memory"]["total"] += number << 20
            file.write_text(json.dumps(document), encoding="utf-8")
        _measure(figures, "six kinds of nodes", folder / "kinds")
        _measure(figures, "no two GPU nodes alike", folder / "singles")
        _measure(figures, "with an earlier collection", folder / "kinds", "--since", str(folder / "kinds"))


def _measure(figures: Figures, name: str, folder: Path, *more: str) -> None:
    arguments = [sys.executable, "-c", _CHECK, "fleet", "check", str(folder), *IMAGES, *more]
    reports = [part for suffix in ("html", "json", "md", "xml") for part in ("-o", f"{folder}.{suffix}")]
    started = time.monotonic()
    child = os.posix_spawn(
        sys.executable,
        [*arguments, *reports],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, used = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) != 1:
        raise SystemExit(f"fleet check ended with {os.waitstatus_to_exitcode(status)}; nodes without GPU must give 1")
    seconds = time.monotonic() - started
    figures.seconds[f"fleet check, {NODES} nodes, {name}"] = seconds
    busy = used.ru_utime + used.ru_stime
    print(f"{seconds:8.1f} s  fleet check, {NODES} nodes, {name}: {busy:.1f} s of processor time", flush=True)
    figures.count(f"peak memory of fleet check, {name}, kilobytes", used.ru_maxrss)

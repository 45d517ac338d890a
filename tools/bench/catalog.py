"""Figures of the catalog: loading and checking all rows, starting commands, and the audit of the largest wheel."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.core.http.web import Web
from envbuilder.core.uv import Uv
from envbuilder.lock.index.fetching import fetch
from envbuilder.lock.index.uv_index import UvIndex
from tools.bench.measuring import Figures, run

ROOT = Path(__file__).parents[2]
ENVBUILDER = str(Path(sys.executable).parent / "envbuilder")
UV = Path(sys.executable).parent / "uv"
LARGEST = ("tensorflow", "2.20.0", "cp313")
LOADS = 10
STARTS = 5
STARTED = (("--help",), ("list",), ("schema", "validate"), ("build", "--help"))


def measure_catalog(figures: Figures, work: Path) -> None:
    """Load the catalog, then audit the largest wheel: 620 MB, fetched before the clock starts."""
    matrices = ROOT / "matrices"
    rows = len(load_catalog(matrices).environments)
    figures.count("rows in the catalog", rows)
    figures.time(f"load and cross-check the catalog, {LOADS} times", lambda: _load(matrices))
    for words in STARTED:
        figures.count(f"processor milliseconds of `envbuilder {' '.join(words)}`", _started(words))
    index = UvIndex(uv=Uv(program=UV, cache=work / "uv", environ=dict(os.environ)))
    package, version, tag = LARGEST
    file = next(each for each in index.files(package, version) if f"-{tag}-" in each.file and "x86_64" in each.file)
    with tempfile.TemporaryDirectory(dir=work) as name:
        wheel = fetch(file, Path(name), web=Web(dict(os.environ)))
        figures.count("bytes of the wheel", wheel.stat().st_size)
        figures.time("audit of the wheel", lambda: _audit(wheel))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    figures.count("peak memory of any program started here, kilobytes", peak)


def _load(matrices: Path) -> None:
    for _ in range(LOADS):
        load_catalog(matrices)


def _started(words: tuple[str, ...]) -> int:
    """Return the least processor time of some starts: other programs on the machine make them slower, never faster."""
    used = []
    for _ in range(STARTS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run([sys.executable, "-m", "envbuilder", *words], os.environ)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return round(min(used) * 1000)


def _audit(wheel: Path) -> None:
    done = subprocess.run([ENVBUILDER, "catalog", "audit", str(wheel), "--json"], capture_output=True, check=False)
    if done.returncode not in {0, 1}:
        raise SystemExit(done.stderr.decode(errors="replace"))

"""Speed-up of `catalog prove --on`: one process, two processes, and a Slurm of four nodes, all on this machine.

`python -m tools.bench fan-out [GLOB]`, as root; needs Debian's packages slurmctld, slurmd, slurm-client and munge, and
the extra `slurm`. Every place shares the processors, so the best possible factor is their number; TensorFlow uses
several itself.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tools.bench.measuring import Figures, run
from tools.slurm_cluster import SlurmNode, slurm_cluster

ROOT = Path(__file__).parents[2]
DEFAULT = "tf-2.1[2345]-cpu"
NODES = 4
SLURM = "slurm:cpus=4,minutes=30"


def measure_fan_out(figures: Figures, work: Path, pattern: str = DEFAULT) -> None:
    """Prove environments in each place, all with the same full caches; evidence goes to a copy of the catalog."""
    with tempfile.TemporaryDirectory(dir=work) as name:
        folder = Path(name)
        shutil.copytree(ROOT / "matrices", folder / "matrices")
        environ = {**os.environ, "ENVBUILDER_MATRICES": str(folder / "matrices"), "PYTHONPATH": str(ROOT)}
        figures.time("first, to fill the caches", lambda: _prove(environ, pattern, "local"))
        for on in ("local:1", "local:2"):
            _measure(figures, environ, pattern, on)
        nodes = [SlurmNode(name=f"f{number}", gpus=0, features=()) for number in range(1, NODES + 1)]
        with slurm_cluster(folder / "slurm", nodes) as variables:
            _measure(figures, environ | variables, pattern, SLURM)
        one = figures.seconds["local:1"]
        for on in ("local:2", SLURM):
            print(f"{one / figures.seconds[on]:8.2f} x  {on}", flush=True)


def _measure(figures: Figures, environ: Mapping[str, str], pattern: str, on: str) -> None:
    before = os.getloadavg()[0]
    proven: list[dict[str, object]] = []
    figures.time(on, lambda: proven.extend(_prove(environ, pattern, on)))
    print(f"           {len(proven)} environments; load before {before:.1f}, {os.cpu_count()} processors", flush=True)


def _prove(environ: Mapping[str, str], pattern: str, on: str) -> list[dict[str, object]]:
    """Prove all environments again, and return what is recorded of each; every one must be proven."""
    words = ["catalog", "prove", pattern, "--tier", "cpu", "--again", "--json", "--on", on]
    document = json.loads(run([sys.executable, "-P", "-m", "envbuilder", *words], environ))
    if document["missing"] or not all(each["proven"] and each["ran"] for each in document["environments"]):
        raise SystemExit(f"not everything was proven on {on}: {json.dumps(document, indent=1)}")
    found: list[dict[str, object]] = document["environments"]
    return found

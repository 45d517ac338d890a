"""`--on local` with real commands: evidence comes back, failures are reported, and a second call does only the rest."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from envbuilder.catalog.evidence import Grade
from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.catalog.load.environments import Proof, dump_proof
from envbuilder.catalog.selection import matching
from tests.fakes.catalogs import ROOT

ROWS = ["tf-2.15-cpu", "tf-2.16-cpu"]


def envbuilder(folder: Path, *arguments: str) -> tuple[int, Any, str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ENVBUILDER_")}
    environ |= {
        "PYTHONPATH": str(ROOT),
        "ENVBUILDER_CACHE": str(folder / "cache"),
        "ENVBUILDER_MATRICES": str(folder / "matrices"),
    }
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "envbuilder", *arguments],
        env=environ,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, json.loads(ended.stdout) if ended.stdout else None, ended.stderr


def test_a_second_call_proves_only_what_the_first_one_could_not(tmp_path: Path) -> None:
    matrices = shutil.copytree(ROOT / "matrices", tmp_path / "matrices")
    for row in matching(load_catalog(matrices), "tf-2.1[56]-cpu"):
        measured = tuple(each for each in row.evidence if each.grade.rank < Grade.RESOLVED.rank)
        (matrices / "evidence" / f"{row.id}.yaml").write_text(dump_proof(row.id, Proof(evidence=measured)), "utf-8")
    # Without its closure, a row has to be resolved, and the index does not answer.
    closure = matrices / "locks" / "tf-2.16-cpu.yaml"
    kept = closure.read_bytes()
    closure.unlink()
    asked = ("catalog", "prove", "tf-2.1[56]-cpu", "--tier", "resolved", "--on", "local:2", "--json")
    dead_index = ("--index", "http://127.0.0.1:1/simple")

    status, document, told = envbuilder(tmp_path, *asked, *dead_index)
    assert status == 11, told
    assert [each["id"] for each in document["environments"]] == ROWS[:1]
    [missing] = document["missing"]
    assert (missing["name"], missing["outcome"], missing["status"]) == ("tf-2.16-cpu", "failed", 5)
    assert "tf-2.16-cpu: failed with status 5" in told
    assert "1 of 2 have no result: tf-2.16-cpu" in told
    assert "resolved" in (matrices / "evidence" / "tf-2.15-cpu.yaml").read_text(encoding="utf-8")

    closure.write_bytes(kept)
    status, document, told = envbuilder(tmp_path, *asked, *dead_index)
    assert status == 0, told
    assert [(each["id"], each["proven"], each["ran"]) for each in document["environments"]] == [
        ("tf-2.15-cpu", True, False),
        ("tf-2.16-cpu", True, True),
    ]
    assert document["missing"] == []
    assert "tf-2.15-cpu: started" not in told
    # Evidence says what is finished.
    assert not (tmp_path / "cache" / "fan-out").exists()

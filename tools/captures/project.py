"""The directory in which captured commands run: a project, locks, facts of machines and workers, and logs."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from envbuilder.lock.lockfile import dump
from tests.fakes.catalogs import ROOT
from tests.fakes.fleets import write_fleet
from tests.fakes.hosts import GIB, K80, V100, FakeGpu, environment, host_document
from tests.golden.commands import FILES
from tests.golden.products import moved_lock, team_lock
from tests.unit.cluster.fleet.fleets import mixed_fleet
from tests.unit.diagnostics.checks.cases import merged
from tests.unit.diagnostics.multi_node.recorded import FOLDER as WORKERS
from tests.unit.diagnostics.vulnerabilities.made import WORST, directory, lock_of, osv, pin, until
from tools.diagnose_cases import cases

_LOGS = ROOT / "tests" / "cases" / "logs"
_FACTS = ROOT / "tests" / "cases" / "facts"
_PATCHES = ROOT / "tests" / "cases" / "patches"
_RTX = FakeGpu(name="NVIDIA GeForce RTX 3090", capability="8.6", total=24 * GIB)
_GTX = FakeGpu(name="NVIDIA GeForce GTX 1080 Ti", capability="6.1", total=11 * GIB)
_OLD_PROJECT = {
    "requirements.txt": """\
tensorflow-gpu==1.15.0
keras==2.3.1
numpy<1.19
h5py==2.10.0
opencv-python==4.1.2.30
-e git+https://git.example/team/metrics#egg=metrics
""",
    "Dockerfile": """\
FROM tensorflow/tensorflow:1.15.0-gpu-py3
RUN apt-get update && apt-get install -y libsm6 ffmpeg
COPY . /app
WORKDIR /app
CMD ["python", "train.py"]
""",
    "train.py": "import keras\nimport tensorflow as tf\n\nflags = tf.app.flags\nnet = tf.contrib.slim.conv2d\n",
    "README.md": "# Segmentation\n\nInstall with `pip install tensorflow-gpu==1.14 keras`.\n",
}
_BAD_SETTINGS = '[build]\nengine = "dokcer"\njobs = 4\n\n[lokc]\nindex = "x"\n'


def write_project(folder: Path) -> None:
    """Write everything that the commands of the list read.

    Args:
        folder: Directory; is created, and files of an earlier call are replaced.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = {**FILES, "team.lock": team_lock(), "moved.lock": moved_lock(), "bad-settings.toml": _BAD_SETTINGS}
    for name, text in {**texts, **_machines(), "empty.log": "", "tf.sif": ""}.items():
        (folder / name).write_text(text, encoding="utf-8")
    _write_tree(folder / "old-project", _OLD_PROJECT)
    _write_tree(folder / "too-new", {"requirements.txt": "tensorflow==9.1\n"})
    _write_tree(folder / "logs", {f"{case.id}.log": case.log for case in cases(_LOGS)})
    _write_fleets(folder)
    shutil.copytree(WORKERS, folder / "workers", dirs_exist_ok=True)
    # Proofs are written into the catalog.
    shutil.copytree(ROOT / "matrices", folder / "matrices", dirs_exist_ok=True)
    _write_vulnerabilities(folder)
    key = ("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(folder / "team.pem"))
    subprocess.run(key, check=True, capture_output=True)
    public = ("openssl", "ec", "-in", str(folder / "team.pem"), "-pubout", "-out", str(folder / "team.pub"))
    subprocess.run(public, check=True, capture_output=True)


def _machines() -> Mapping[str, str]:
    """Return facts of machines, and of images on them, by file name."""
    tensorflow = {"distributions": environment("2.1.0", keras="2.3.1", numpy="1.18.5")["distributions"]}
    fast = json.loads((_FACTS / "tf-2.20-cuda-wheels.json").read_text(encoding="utf-8"))
    for patch in ("two-a100", "two-a100-work"):
        fast = merged(fast, json.loads((_PATCHES / f"{patch}.json").read_text(encoding="utf-8")))
    return {
        "there.json": host_document("440.64", (_GTX,), cuda="10.2", more=tensorflow),
        "here.json": host_document("535.104.05", (_RTX,), cuda="12.2", limit=8 * GIB, more=tensorflow),
        "old.json": host_document("375.66", (K80, K80), cuda="8.0", shm=64 << 20, avx=False),
        "server.json": host_document("450.80.02", (V100,) * 4, cuda="11.0"),
        "two-a100.json": json.dumps(fast),
        "no-cuda.json": (_FACTS / "tf-2.4-gpu-wheel-no-cuda.json").read_text(encoding="utf-8"),
        "cpu.json": (_FACTS / "tf-2.15-cpu.json").read_text(encoding="utf-8"),
    }


def _write_fleets(folder: Path) -> None:
    for name in ("facts", "small"):
        shutil.rmtree(folder / name, ignore_errors=True)
    mixed_fleet(folder / "facts")
    write_fleet(folder / "small", 20)


def _write_vulnerabilities(folder: Path) -> None:
    severe = osv(
        "GHSA-made-1",
        aliases=["CVE-2099-1"],
        events=until("4.21.6"),
        summary="A made-up vulnerability: a crafted message makes the parser use all memory",
        severity=[{"type": "CVSS_V3", "score": WORST}],
    )
    mild = osv("GHSA-made-2", package="six", events=until("1.1"), database_specific={"severity": "LOW"})
    directory(folder / "osv", severe, mild)
    (folder / "scanned.lock").write_text(dump(lock_of(pin("protobuf", "3.19.1"), pin("six", "1.0"))), encoding="utf-8")


def _write_tree(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")

"""`audit` of a wheel on this host: what is printed, what is written, and the exit status."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from envbuilder.catalog.load.catalog import load_catalog
from tests.fakes.catalogs import DATA
from tests.unit.cli.running import CommandLine
from tests.unit.curation.wheel_audit.wheels import METADATA, elf, wheel

INFO = "tensorflow_cpu-2.15.1.dist-info"
NAME = "tensorflow_cpu-2.15.1-cp311-cp311-manylinux_2_17_x86_64.whl"
FRAMEWORK = "tensorflow/libtensorflow_framework.so.2"


@pytest.fixture
def matrices(envbuilder: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = shutil.copytree(DATA / "catalog", envbuilder.folder / "matrices")
    monkeypatch.setenv("ENVBUILDER_MATRICES", str(folder))
    return folder


def cpu_wheel(folder: Path, *, glibc: str = "2.17") -> str:
    text = METADATA.replace("tensorflow\n", "tensorflow-cpu\n").replace("2.99.0", "2.15.1")
    needed = {"libc.so.6": [f"GLIBC_{glibc}"], "libstdc++.so.6": ["GLIBCXX_3.4.19"]}
    members: dict[str, bytes | str] = {
        FRAMEWORK: elf(needed=["libc.so.6", "libstdc++.so.6"], versions=needed),
        "tensorflow-2.99.0.dist-info/METADATA": "",
        "tensorflow-2.99.0.dist-info/WHEEL": "",
        f"{INFO}/METADATA": text,
        f"{INFO}/WHEEL": "Wheel-Version: 1.0\nTag: cp311-cp311-manylinux_2_17_x86_64\n",
    }
    return str(wheel(folder, members, name=NAME))


def test_a_wheel_that_agrees_ends_with_0(envbuilder: CommandLine, matrices: Path) -> None:
    ended = envbuilder("catalog", "audit", cpu_wheel(envbuilder.folder))
    assert ended.status == 0, ended.stdout + ended.stderr
    assert "tf-2.15-cpu" in ended.stdout
    assert "differs" not in ended.stdout
    assert not list((envbuilder.folder / "cache" / "work").iterdir())


def test_a_difference_is_told_in_full_and_ends_with_1(envbuilder: CommandLine, matrices: Path) -> None:
    ended = envbuilder("catalog", "audit", cpu_wheel(envbuilder.folder, glibc="2.30"))
    assert ended.status == 1
    assert "tensorflow.glibc: the catalog has 2.17; the wheel has 2.30" in ended.stdout


def test_json_has_the_field_names_of_the_facts_and_the_differences(envbuilder: CommandLine, matrices: Path) -> None:
    ended = envbuilder("catalog", "audit", cpu_wheel(envbuilder.folder, glibc="2.30"), "--json")
    [seen] = json.loads(ended.stdout)["wheels"]
    assert (seen["row"], seen["agrees"]) == ("tf-2.15-cpu", False)
    assert seen["differences"] == [{"field": "tensorflow.glibc", "claimed": "2.17", "measured": "2.30"}]
    assert {"dlopen_sonames", "gpu_archs", "cudnn_compiled_against", "glibc_max", "requires_dist"} <= set(seen)


def test_write_puts_it_into_the_row_and_ends_with_0(envbuilder: CommandLine, matrices: Path) -> None:
    path = cpu_wheel(envbuilder.folder, glibc="2.30")
    assert envbuilder("catalog", "audit", path, "--write").status == 0
    row = next(row for row in load_catalog(matrices).environments if row.id == "tf-2.15-cpu")
    assert str(row.framework.glibc) == "2.30"
    assert envbuilder("catalog", "audit", path).status == 0


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("./missing.whl", "wheel not found: ./missing.whl"),
        ("tensorflow==x.y", "'x.y' is not a version"),
        ("tf-9.9-cpu", "tf-9.9-cpu"),
    ],
)
def test_what_cannot_be_audited_is_told(envbuilder: CommandLine, matrices: Path, target: str, said: str) -> None:
    ended = envbuilder("catalog", "audit", target)
    assert ended.status == 2
    assert said in ended.stderr


def test_a_file_that_is_no_wheel_is_told_with_its_name(envbuilder: CommandLine, matrices: Path) -> None:
    path = envbuilder.folder / NAME
    path.write_bytes(b"not a zip file")
    ended = envbuilder("catalog", "audit", str(path))
    assert ended.status == 3
    assert NAME in ended.stderr

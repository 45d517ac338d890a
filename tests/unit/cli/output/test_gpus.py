"""`list --gpus`: the table, one environment in full, and the document."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import cache

import click
import pytest

from envbuilder.catalog.cuda import KernelFamily
from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.load.tables import read_cuda
from envbuilder.cli.output.gpus import gpu_document, gpu_table
from envbuilder.core.versions import Release
from tests.fakes.catalogs import MATRICES, real_catalog, small_catalog

GPU_ROW = "tf-2.4-cuda11.0"


KEPLER_TO_AMPERE = tuple(map(Release, ("3.5", "5.0", "6.0", "7.0", "7.5", "8.0")))
WITHOUT_PTX = KernelFamily(name="mlir", machine=KEPLER_TO_AMPERE, ptx=())


@cache
def catalog() -> Catalog:
    """The small catalog with the product's own table of GPUs, and a GPU row with machine code only."""
    facts = read_cuda((MATRICES / "cuda.yaml").read_text(encoding="utf-8"), "cuda.yaml")
    rows = tuple(with_code(row, WITHOUT_PTX) if row.id == GPU_ROW else row for row in small_catalog().environments)
    return replace(small_catalog(), cuda=facts, environments=rows)


def with_code(row: Environment, family: KernelFamily) -> Environment:
    assert row.cuda is not None
    return replace(row, cuda=replace(row.cuda, code=(family,)))


def named(*names: str) -> list[Environment]:
    return [row for row in catalog().environments if row.id in names]


def shown(*names: str) -> list[str]:
    rows = named(*names) if names else catalog().environments
    return click.unstyle(gpu_table(catalog(), rows)).splitlines()


def compiled_only() -> Environment:
    """A row whose kernels are PTX of a version that a driver of CUDA 11.8 knows."""
    family = KernelFamily(name="cuda", machine=(), ptx=(Release("8.0"),), isa=Release("7.8"))
    return replace(with_code(named(GPU_ROW)[0], family), id="tf-ptx")


def test_on_a_narrow_terminal_the_generations_are_shown_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = shown()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    narrow = shown()
    assert max(map(len, narrow)) <= 60
    headers = [line.split() for line in narrow if line.startswith("ENVIRONMENT")]
    assert len(headers) > 1
    assert [each for header in headers for each in header[1:]] == wide[1].split()[1:]
    marks = [line.split() for line in narrow if line.startswith(GPU_ROW) and "driver" not in line][: len(headers)]
    assert [each for line in marks for each in line[1:]] == next(line for line in wide if GPU_ROW in line).split()[1:]


def test_several_rows_are_a_line_each_under_their_generations() -> None:
    above, header, first, second, *_ = shown()
    assert above.split() == [
        *("Kepler", "Maxwell", "Pascal", "Volta", "Turing", "Ampere", "Ada", "Hopper", "Blackwell"),
    ]
    assert header.split() == [
        *("ENVIRONMENT", "3.5", "3.7", "5.0", "5.2", "6.0", "6.1", "7.0", "7.5", "8.0", "8.6", "8.9", "9.0"),
        *("10.0", "12.0"),
    ]
    assert first.split()[0] == "tf-1.7-cuda9.0"
    assert second.split()[0] == GPU_ROW
    assert [header.index("9.0"), header.index("10.0")] == [above.index("Hopper"), above.index("Blackwell")]


def test_every_mark_stands_under_its_capability() -> None:
    _, header, *rest = shown()
    line = next(line for line in rest if line.startswith(GPU_ROW))
    assert line[header.index("8.6") :].split()[0] == "code?"
    assert line[header.index("9.0") :].split()[0] == "-"


def test_every_mark_is_explained() -> None:
    lines = shown()
    assert {line.split()[0] for line in lines if line.startswith("  ") and len(line.split()[0]) <= 4} >= {
        *("code", "jit", "-", "?"),
    }


def test_the_catalog_fits_the_screen_and_says_everything_without_colour() -> None:
    real = real_catalog()
    lines = click.unstyle(gpu_table(real, real.environments)).splitlines()
    assert max(map(len, lines)) <= 120
    assert sum(line.startswith("tf-") for line in lines) == sum(row.cuda is not None for row in real.environments)


@pytest.mark.parametrize("row", [row.id for row in real_catalog().environments if row.cuda])
def test_a_row_in_full_fits_the_screen(row: str) -> None:
    real = real_catalog()
    lines = gpu_table(real, [each for each in real.environments if each.id == row]).splitlines()
    assert max(len(click.unstyle(line)) for line in lines) <= 120


def test_rows_without_a_gpu_are_named_and_left_out() -> None:
    lines = shown()
    assert lines[-1] == "Without GPU support: tf-2.15-cpu"
    assert not any(line.startswith("tf-2.15-cpu") for line in lines)


def test_cpu_rows_alone_are_only_left_out() -> None:
    assert shown("tf-2.15-cpu") == ["Without GPU support: tf-2.15-cpu"]


def test_a_driver_that_the_libraries_do_not_ask_for_is_told_below_the_table() -> None:
    table = click.unstyle(gpu_table(catalog(), [*named(GPU_ROW), compiled_only()]))
    _, _, below = table.partition("Compiling may need a newer driver than the libraries do:\n")
    assert below.splitlines()[0] == "  tf-ptx  8.0, 8.6, 8.9, 9.0, 10.0, 12.0: 520.61.05"


def test_a_table_without_compiled_code_speaks_of_no_compiler() -> None:
    lines = click.unstyle(gpu_table(catalog(), named(GPU_ROW, "tf-2.15-cpu"))).splitlines()
    assert not any(line.startswith("Compiling") for line in lines)


def test_one_row_is_shown_in_full() -> None:
    lines = shown(GPU_ROW)
    assert lines[0].startswith(f"{GPU_ROW}  ")
    assert "image-11.0  CUDA 11.0.3, cuDNN 8.0.5, driver 450.51.06 or later" in lines
    hopper = next(index for index, line in enumerate(lines) if line.startswith("  9.0 "))
    assert lines[hopper].split(maxsplit=2) == ["9.0", "-", "Hopper: H100 / H200 / GH200"]
    assert "kernels: no machine code for this GPU, and no PTX" in lines[hopper + 1]


def test_another_base_is_shown_where_it_differs() -> None:
    lines = shown(GPU_ROW)
    other = lines[next(index for index, line in enumerate(lines) if line.startswith("debian-new  CUDA 11.8")) :]
    assert [line.split()[:2] for line in other if line.startswith("  8")] == [
        ["8.0", "code"],
        ["8.6", "code"],
        ["8.9", "code"],
    ]
    assert "  everything else as on image-11.0" in other


def test_the_document_has_every_base_and_gpu_with_its_reasons() -> None:
    document = json.loads(json.dumps(gpu_document(catalog(), catalog().environments)))
    assert list(document) == ["schema", "gpus", "environments", "left_out"]
    assert document["left_out"] == ["tf-2.15-cpu"]
    row = next(each for each in document["environments"] if each["id"] == GPU_ROW)
    assert [base["id"] for base in row["bases"]] == ["image-11.0", "debian-new"]
    assert all(len(base["gpus"]) == len(document["gpus"]) for base in row["bases"])
    doubted = next(gpu for gpu in row["bases"][0]["gpus"] if gpu["capability"] == "8.6")
    assert (doubted["outcome"], doubted["doubtful"], doubted["driver"]) == ("machine-code", True, "455.23")
    assert [(reason["part"], reason["outcome"]) for reason in doubted["reasons"]][-2:] == [
        ("cuda", "not-proven"),
        ("cudnn", "machine-code"),
    ]

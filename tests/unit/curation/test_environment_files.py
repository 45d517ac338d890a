"""What was measured goes into a row's file, and nothing else in it moves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.catalog.claims import claims_of
from envbuilder.catalog.cuda import CudnnNeed, CudnnRule, KernelFamily
from envbuilder.core.errors import InvalidInput
from envbuilder.core.versions import Release
from envbuilder.curation.environment_files import document_text, read_document, with_measured
from tests.fakes.catalogs import DATA, MATRICES, small_row

ROW = DATA / "catalog" / "environments" / "tf-2.4-cuda11.0.yaml"
SHA256 = "a" * 64
SOURCE = "read from the wheel x.whl, 2026-11-21"


@pytest.mark.parametrize("path", sorted((MATRICES / "environments").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_row_that_is_read_and_written_is_the_same_file(path: Path) -> None:
    comments, document = read_document(path)
    assert document_text(comments, document) == path.read_text(encoding="utf-8")


def test_a_measurement_that_agrees_changes_nothing_but_its_source() -> None:
    _, before = read_document(ROW)
    after = with_measured(before, claims_of(small_row("tf-2.4-cuda11.0")), sha256=SHA256, source=SOURCE)
    tensorflow = after["tensorflow"]
    assert isinstance(tensorflow, dict)
    assert tensorflow["measured"] == SHA256
    assert isinstance(tensorflow["sources"], list)
    assert tensorflow["sources"][0] == SOURCE
    assert list(after) == list(before)
    assert after["cuda"] == before["cuda"]
    assert after["bases"] == before["bases"]


def test_what_was_measured_takes_the_place_of_what_was_claimed() -> None:
    _, before = read_document(ROW)
    claims = claims_of(small_row("tf-2.4-cuda11.0"))
    assert claims.cuda
    family = KernelFamily(
        name="cuda", machine=(Release("7.0"),), ptx=(Release("9.0"),), forward=False, isa=Release("8.5")
    )
    measured = replace(
        claims,
        glibc=Release("2.27"),
        needs_avx=False,
        cuda=replace(
            claims.cuda,
            sonames=("libcudart.so.12", "libcupti.so.12"),
            cudnn=CudnnNeed(compiled=Release("9.3"), rule=CudnnRule.SAME_MAJOR_AT_LEAST),
            families=(family,),
        ),
    )
    after = with_measured(before, measured, sha256=SHA256, source=SOURCE)
    tensorflow, cuda = after["tensorflow"], after["cuda"]
    assert isinstance(tensorflow, dict)
    assert isinstance(cuda, dict)
    assert (tensorflow["glibc"], tensorflow["needs_avx"]) == ("2.27", False)
    assert (cuda["sonames"], cuda["optional"]) == (["libcudart.so.12"], ["libcupti.so.12"])
    assert cuda["cudnn"] == {"compiled": "9.3", "rule": "same-major-at-least"}
    assert cuda["code"] == [{"name": "cuda", "machine": ["7.0"], "ptx": ["9.0"], "isa": "8.5", "forward": False}]


def test_a_patch_release_of_cudnn_that_the_wheel_does_not_tell_stays() -> None:
    _, before = read_document(ROW)
    claims = claims_of(small_row("tf-2.4-cuda11.0"))
    assert claims.cuda
    assert claims.cuda.cudnn
    known = claims.cuda.cudnn.compiled.text
    need = CudnnNeed(compiled=Release(known.rpartition(".")[0]), rule=claims.cuda.cudnn.rule)
    measured = replace(claims, cuda=replace(claims.cuda, cudnn=need))
    cuda = with_measured(before, measured, sha256=SHA256, source=SOURCE)["cuda"]
    assert isinstance(cuda, dict)
    assert cuda["cudnn"] == {"compiled": known, "rule": need.rule.value}


def test_a_file_that_is_no_row_is_told(tmp_path: Path) -> None:
    path = tmp_path / "row.yaml"
    path.write_text("- 1\n", encoding="utf-8")
    with pytest.raises(InvalidInput):
        read_document(path)
    with pytest.raises(InvalidInput):
        read_document(tmp_path / "missing.yaml")

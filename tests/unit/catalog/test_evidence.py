"""Evidence has a place among the others, and says itself in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from envbuilder.catalog.evidence import (
    BuiltWithStandIns,
    Documented,
    Evidence,
    Grade,
    Measured,
    ProvenImage,
    RanOnCpu,
    RanOnGpu,
    Resolved,
)
from envbuilder.core.digests import shortened
from tests.fakes.catalogs import small_row

DAY = date(2026, 11, 21)
SHA256 = "0123456789abcdef" * 4
DIGEST = f"sha256:{SHA256}"
EACH: tuple[Evidence, ...] = (
    Documented(where="a table", when=DAY),
    Measured(file="tensorflow.whl", sha256=SHA256, when=DAY),
    Resolved(bases=("debian-bookworm", "image-11.0"), python="3.11", closure=DIGEST, when=DAY),
    RanOnCpu(python="3.11.7", glibc="2.36", closure=DIGEST, when=DAY, report="row/cpu.json"),
    BuiltWithStandIns(
        base="debian-bookworm",
        python="3.6.15",
        closure=DIGEST,
        lock=DIGEST,
        stand_ins=("libcuda.so.1", "libcufft.so.9.0"),
        when=DAY,
        report="row/image-with-stand-ins.json",
    ),
    ProvenImage(
        base="debian-bookworm", python="3.11.2", closure=DIGEST, lock=DIGEST, when=DAY, report="row/image.json"
    ),
    RanOnGpu(
        base="debian-bookworm",
        gpu="NVIDIA H200",
        driver="580.95",
        closure=DIGEST,
        lock=DIGEST,
        when=DAY,
        report="row/gpu.json",
    ),
)


def test_there_is_one_kind_of_evidence_for_each_grade_weakest_first() -> None:
    assert [entry.grade for entry in EACH] == list(Grade)
    assert [entry.grade.rank for entry in EACH] == list(range(len(Grade)))


@pytest.mark.parametrize("entry", EACH, ids=lambda entry: entry.grade.value)
def test_evidence_says_itself_on_one_line_with_what_it_rests_on(entry: Evidence) -> None:
    said = str(entry)
    assert said.isprintable()
    named = [
        getattr(entry, name)
        for name in ("where", "file", "python", "glibc", "base", "gpu", "driver", "report")
        if hasattr(entry, name)
    ]
    if isinstance(entry, BuiltWithStandIns | ProvenImage | RanOnGpu | RanOnCpu | Resolved | Measured):
        named.append(SHA256[:12])
    missing = [word for word in named if word not in said and not isinstance(entry, Resolved)]
    assert not missing
    assert SHA256 not in said


def test_evidence_with_stand_ins_names_each_of_them() -> None:
    assert "with stand-ins for libcuda.so.1, libcufft.so.9.0 (" in str(EACH[4])


def test_what_is_resolved_names_every_base() -> None:
    assert str(EACH[2]) == "packages for Python 3.11 on debian-bookworm, image-11.0 (closure 0123456789ab)"


def test_a_digest_is_shortened_without_its_algorithm() -> None:
    assert shortened(DIGEST) == shortened(SHA256) == "0123456789ab"


@pytest.mark.parametrize("count", range(1, len(EACH) + 1))
def test_a_row_is_proven_as_far_as_its_strongest_evidence(count: int) -> None:
    row = replace(small_row("tf-2.15-cpu"), evidence=EACH[:count][::-1])
    assert row.proven is EACH[count - 1].grade


def test_a_row_without_evidence_is_only_documented() -> None:
    assert replace(small_row("tf-2.15-cpu"), evidence=()).proven is Grade.DOCUMENTED

"""What a row says of its wheel beside what was measured: every difference is found, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envbuilder.catalog.claims import Claims, CudaClaims, claims_of, compare
from envbuilder.catalog.cuda import CudnnNeed, CudnnRule, KernelFamily
from envbuilder.core.versions import Release
from tests.fakes.catalogs import small_row

GPU = claims_of(small_row("tf-2.4-cuda11.0"))
CPU = claims_of(small_row("tf-2.15-cpu"))
assert GPU.cuda


def differing(measured: Claims, claimed: Claims = GPU) -> dict[str, tuple[str, str]]:
    return {each.field: (each.claimed, each.measured) for each in compare(claimed, measured) if not each.agrees}


def with_cuda(**changes: object) -> Claims:
    assert GPU.cuda
    return replace(GPU, cuda=replace(GPU.cuda, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("claims", [GPU, CPU])
def test_a_row_agrees_with_itself(claims: Claims) -> None:
    assert not differing(claims, claims)


def test_the_row_s_profiler_library_is_one_of_its_sonames() -> None:
    row = small_row("tf-2.4-cuda11.0")
    assert row.cuda
    assert GPU.cuda
    assert set(GPU.cuda.sonames) == {*row.cuda.sonames, *row.cuda.optional}


def test_floors_and_avx_are_compared() -> None:
    measured = replace(GPU, glibc=Release("2.17"), glibcxx=Release("3.4.19"), needs_avx=not GPU.needs_avx)
    assert set(differing(measured)) == {"tensorflow.glibc", "tensorflow.glibcxx", "tensorflow.needs_avx"}


def test_what_could_not_be_measured_is_no_difference() -> None:
    assert not differing(replace(with_cuda(cudnn=None, compiled=None, sonames=()), needs_avx=None))


def test_a_cpu_wheel_for_a_gpu_row_is_told_once() -> None:
    assert differing(replace(GPU, cuda=None)) == {"cuda": ("a CUDA build", "a CPU build")}
    assert differing(GPU, replace(GPU, cuda=None)) == {"cuda": ("a CPU build", "a CUDA build")}


def test_a_library_more_or_less_is_a_difference() -> None:
    assert GPU.cuda
    assert set(differing(with_cuda(sonames=GPU.cuda.sonames[1:]))) == {"cuda.sonames"}
    assert set(differing(with_cuda(sonames=(*GPU.cuda.sonames, "libx.so.1")))) == {"cuda.sonames"}


@pytest.mark.parametrize(
    ("measured", "agrees"), [("8.0", True), ("8.0.4", True), ("8.0.5", False), ("8.1", False), ("8", True)]
)
def test_a_cudnn_without_patch_release_agrees_as_far_as_it_goes(measured: str, agrees: bool) -> None:
    need = CudnnNeed(compiled=Release(measured), rule=CudnnRule.SAME_MAJOR_AT_LEAST)
    claimed = with_cuda(cudnn=CudnnNeed(compiled=Release("8.0.4"), rule=CudnnRule.SAME_MAJOR_AT_LEAST))
    assert ("cuda.cudnn.compiled" not in differing(with_cuda(cudnn=need), claimed)) is agrees


def test_only_major_and_minor_of_the_toolkit_count() -> None:
    assert not differing(with_cuda(compiled=Release("11.0.3")))
    assert set(differing(with_cuda(compiled=Release("11.1")))) == {"cuda.compiled"}


def test_every_part_of_the_gpu_code_is_compared() -> None:
    assert GPU.cuda
    family = GPU.cuda.families[0]
    changed = KernelFamily(
        name=family.name, machine=(), ptx=(Release("9.0"),), forward=not family.forward, isa=Release("8.5")
    )
    measured = with_cuda(families=(changed, *GPU.cuda.families[1:]))
    fields = {field.rpartition(".")[2] for field in differing(measured)}
    assert fields == {"machine", "ptx", "isa", "forward"}


def test_a_family_that_only_one_side_has_is_a_difference() -> None:
    assert GPU.cuda
    more = CudaClaims(
        compiled=GPU.cuda.compiled,
        linkage=GPU.cuda.linkage,
        sonames=GPU.cuda.sonames,
        cudnn=GPU.cuda.cudnn,
        families=(*GPU.cuda.families, KernelFamily(name="other", machine=(Release("7.0"),), ptx=())),
    )
    assert "cuda.code.other.machine" in differing(replace(GPU, cuda=more))
    assert "cuda.code.other.machine" in differing(GPU, replace(GPU, cuda=more))


def test_ptx_whose_isa_could_not_be_read_keeps_the_claim() -> None:
    assert GPU.cuda
    families = tuple(replace(family, isa=None) for family in GPU.cuda.families)
    claimed = tuple(replace(family, isa=Release("7.0") if family.ptx else None) for family in GPU.cuda.families)
    assert not differing(with_cuda(families=families), with_cuda(families=claimed))

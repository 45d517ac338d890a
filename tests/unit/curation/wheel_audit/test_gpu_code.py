"""Fatbins in sections: which are found, what is in them, and what is no fatbin at all."""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.corrupt_file import Damaged
from envbuilder.core.elf import DataSection
from envbuilder.core.versions import Release
from envbuilder.curation.wheel_audit.fatbins import MAGIC
from envbuilder.curation.wheel_audit.gpu_code import BLOCK, LibraryCode, read_gpu_code
from envbuilder.curation.wheel_audit.measurement import FamilyCode, PtxTarget
from tests.unit.curation.wheel_audit.wheels import CUBIN, LTO, LZ4, PTX, ZSTD, entry, fatbin, lz4, ptx

CUDA_PROGRAM = b"\x7fELF\x02\x01\x01\x33" + bytes(10) + (190).to_bytes(2, "little") + bytes(44)


def read(content: bytes, section: str = ".nv_fatbin") -> LibraryCode:
    return read_gpu_code(BytesIO(content), [DataSection(name=section, start=0, end=len(content))])


def only(code: LibraryCode) -> FamilyCode:
    (family,) = code.families
    return family


def target(capability: str, isa: str | None, name: str, *, beside: bool = False) -> PtxTarget:
    return PtxTarget(
        capability=Release(capability), isa=Release(isa) if isa else None, target=name, beside_machine=beside
    )


def test_machine_code_and_ptx_are_told_apart() -> None:
    code = read(fatbin(entry(CUBIN, 70), entry(CUBIN, 80), entry(PTX, 90, ptx("8.3", "sm_90"))))
    assert code.bare_cubins == 0
    assert only(code) == FamilyCode(
        name="cuda", fatbins=1, machine=(Release("7.0"), Release("8.0")), ptx=(target("9.0", "8.3", "sm_90"),)
    )


def test_packed_ptx_is_unpacked_as_far_as_its_first_lines() -> None:
    code = read(fatbin(entry(PTX, 90, lz4(ptx("8.5", "sm_90a")), flags=LZ4, header=80)))
    assert only(code).ptx == (target("9.0", "8.5", "sm_90a"),)
    assert not only(code).ptx[0].forward


def test_ptx_beside_machine_code_for_the_same_gpu_is_marked() -> None:
    code = read(fatbin(entry(CUBIN, 80), entry(PTX, 80, ptx("7.0", "sm_80"))))
    assert only(code).ptx == (target("8.0", "7.0", "sm_80", beside=True),)


def test_ptx_may_be_for_an_older_gpu_than_its_entry_says() -> None:
    code = read(fatbin(entry(PTX, 80, lz4(ptx("6.3", "sm_75")), flags=LZ4)))
    assert only(code).ptx == (target("8.0", "6.3", "sm_75"),)


@pytest.mark.parametrize(
    "packed", [entry(PTX, 90, b"\x28\xb5\x2f\xfd" + bytes(20), flags=ZSTD), entry(PTX, 90, b"no PTX at all")]
)
def test_ptx_that_cannot_be_read_is_said_to_be_there_and_no_more(packed: bytes) -> None:
    (found,) = only(read(fatbin(packed))).ptx
    assert found == target("9.0", None, "")
    assert not found.forward


def test_capabilities_of_three_digits_are_two_numbers() -> None:
    assert only(read(fatbin(entry(CUBIN, 100), entry(CUBIN, 120), entry(CUBIN, 90)))).machine == (
        Release("9.0"), Release("10.0"), Release("12.0"),
    )  # fmt: skip


def test_other_kinds_of_entries_are_passed_over() -> None:
    assert only(read(fatbin(entry(LTO, 90), entry(CUBIN, 90)))).machine == (Release("9.0"),)


@pytest.mark.parametrize(
    ("section", "family"),
    [(".nv_fatbin", "cuda"), ("__nv_relfatbin", "cuda"), (".rodata", "mlir"), (".lrodata", "mlir"), (".data", "mlir")],
)
def test_the_section_tells_the_family(section: str, family: str) -> None:
    assert only(read(fatbin(entry(CUBIN, 70)), section)).name == family


def test_sections_of_one_family_are_told_together_and_families_in_order() -> None:
    one, two, three = fatbin(entry(CUBIN, 70)), fatbin(entry(CUBIN, 80)), fatbin(entry(CUBIN, 90))
    stream = BytesIO(one + two + three)
    ends = [len(one), len(one + two), len(one + two + three)]
    names = (".rodata", ".nv_fatbin", "__nv_relfatbin")
    sections = [DataSection(name=n, start=s, end=e) for n, s, e in zip(names, [0, *ends], ends, strict=False)]
    cuda, mlir = read_gpu_code(stream, sections).families
    assert (cuda.name, cuda.fatbins, cuda.machine) == ("cuda", 2, (Release("8.0"), Release("9.0")))
    assert (mlir.name, mlir.fatbins, mlir.machine) == ("mlir", 1, (Release("7.0"),))


@given(
    gaps=st.lists(st.integers(min_value=0, max_value=3 * BLOCK), min_size=1, max_size=4),
    near=st.integers(min_value=-8, max_value=8),
)
def test_no_fatbin_is_missed_wherever_it_lies(gaps: list[int], near: int) -> None:
    piece = fatbin(entry(CUBIN, 70), entry(CUBIN, 80, b"\0" * 200))
    content = bytes(BLOCK + near) + b"".join(bytes(gap) + piece for gap in gaps)
    assert only(read(content, ".rodata")).fatbins == len(gaps)


def test_a_magic_number_inside_of_a_fatbin_is_not_another_one() -> None:
    inner = fatbin(entry(CUBIN, 30))
    assert only(read(fatbin(entry(CUBIN, 70, inner)))).machine == (Release("7.0"),)


def test_a_magic_number_that_is_only_a_constant_is_passed_over_among_other_data() -> None:
    content = MAGIC + bytes(40) + fatbin(entry(CUBIN, 80)) + b"\x08" + MAGIC
    assert only(read(content, ".rodata")).machine == (Release("8.0"),)


def test_the_same_in_a_section_for_fatbins_is_damage() -> None:
    with pytest.raises(Damaged, match=r"\.nv_fatbin has a broken fatbin at byte 0"):
        read(MAGIC + bytes(40))


@pytest.mark.parametrize("section", [".nv_fatbin", ".rodata"])
def test_an_entry_that_does_not_fit_is_damage(section: str) -> None:
    whole = bytearray(fatbin(entry(CUBIN, 70), entry(CUBIN, 80)))
    whole[24] = 0xFF
    with pytest.raises(Damaged, match="entry at byte 16"):
        read(bytes(whole), section)


def test_an_entry_that_is_cut_off_is_damage() -> None:
    with pytest.raises(Damaged, match="cut off"):
        read(MAGIC + b"\x01\x00\x10\x00\x20" + bytes(7) + bytes(32))


def test_a_fatbin_longer_than_its_section_is_damage() -> None:
    with pytest.raises(Damaged, match="broken fatbin"):
        read(fatbin(entry(CUBIN, 70))[:-8])


def test_a_broken_lz4_block_is_damage() -> None:
    with pytest.raises(Damaged, match="LZ4"):
        read(fatbin(entry(PTX, 70, b"\x00\x05\x00" + bytes(20), flags=LZ4)))


def test_programs_outside_of_fatbins_are_counted_and_those_inside_are_not() -> None:
    host = CUDA_PROGRAM.replace((190).to_bytes(2, "little"), (62).to_bytes(2, "little"))
    content = CUDA_PROGRAM + fatbin(entry(CUBIN, 70, CUDA_PROGRAM)) + host + CUDA_PROGRAM
    assert read(content, ".rodata").bare_cubins == 2


def test_a_file_that_got_shorter_ends_the_search() -> None:
    assert read_gpu_code(BytesIO(b"short"), [DataSection(name=".rodata", start=0, end=1 << 40)]).families == ()


def test_a_section_without_gpu_code_has_no_family() -> None:
    assert read(b"nothing here" * 1000, ".rodata") == LibraryCode(families=(), bare_cubins=0)


@given(
    at=st.integers(min_value=0, max_value=200),
    byte=st.integers(min_value=0, max_value=255),
    section=st.sampled_from([".nv_fatbin", ".rodata"]),
)
def test_a_changed_byte_gives_a_value_or_damage(at: int, byte: int, section: str) -> None:
    content = bytearray(fatbin(entry(CUBIN, 70), entry(PTX, 90, lz4(ptx("8.5", "sm_90"))[:120], flags=LZ4)))
    content[at] = byte
    with suppress(Damaged):
        read(bytes(content), section)


@given(content=st.binary(max_size=300), section=st.sampled_from([".nv_fatbin", ".rodata"]))
def test_any_bytes_after_a_header_give_a_value_or_damage(content: bytes, section: str) -> None:
    header = MAGIC + b"\x01\x00\x10\x00" + len(content).to_bytes(8, "little")
    with suppress(Damaged):
        read(header + content, section)

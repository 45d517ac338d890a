"""ELF files: dependencies, search paths, symbol versions, sections; and files that only begin like one."""

from __future__ import annotations

import sys
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.corrupt_file import Damaged
from envbuilder.core.elf import DataSection, SharedObject, open_elf, read_search_path, read_shared_object
from envbuilder.core.versions import Release
from tests.unit.curation.wheel_audit.wheels import elf

WHOLE = elf(
    needed=["libcudart.so.12", "libc.so.6"],
    runpath="$ORIGIN/../nvidia/cublas/lib",
    versions={"libstdc++.so.6": ["GLIBCXX_3.4.9", "GLIBCXX_3.4.19"], "libc.so.6": ["GLIBC_2.17"]},
    data={".rodata": b"text" * 8},
)


def read(content: bytes) -> SharedObject:
    return read_shared_object(open_elf(BytesIO(content)))


def test_dependencies_come_in_file_order() -> None:
    library = read(elf(needed=["libz.so.1", "libcudart.so.9.0", "libc.so.6"]))
    assert library.needed == ("libz.so.1", "libcudart.so.9.0", "libc.so.6")
    assert (library.machine, library.runpath, library.versions) == ("x64", (), {})


def test_search_folders_come_once_each_and_empty_ones_not_at_all() -> None:
    assert read(elf(runpath="$ORIGIN/a:$ORIGIN/b::$ORIGIN/a")).runpath == ("$ORIGIN/a", "$ORIGIN/b")


def test_rpath_counts_only_without_runpath() -> None:
    assert read(elf(rpath="/old")).runpath == ("/old",)
    assert read(elf(rpath="/old", runpath="/new")).runpath == ("/new",)


def test_the_newest_symbol_version_of_each_kind_is_told_by_number() -> None:
    names = ["GLIBCXX_3.4.9", "GLIBCXX_3.4.19", "CXXABI_1.3.7", "CXXABI_1.3", "GLIBCXX_LDBL_3.4", "CXXABI_TM_1"]
    library = read(elf(versions={"libstdc++.so.6": names, "libc.so.6": ["GLIBC_2.4", "GLIBC_2.17", "GLIBC_PRIVATE"]}))
    assert library.versions == {
        "CXXABI": Release("1.3.7"), "GLIBC": Release("2.17"), "GLIBCXX": Release("3.4.19"),
    }  # fmt: skip


def test_data_sections_are_those_that_are_loaded_and_no_instructions() -> None:
    content = elf(data={".rodata": b"R" * 24, ".nv_fatbin": b"N" * 40}, code=b"\x90" * 16)
    data = read(content).data
    assert [section.name for section in data] == [".rodata", ".nv_fatbin"]
    assert [content[section.start : section.end] for section in data] == [b"R" * 24, b"N" * 40]
    assert isinstance(data[0], DataSection)


def test_another_processor_is_told() -> None:
    assert read(elf(machine=183)).machine == "AArch64"


@pytest.mark.parametrize(
    "content", [b"", b"\x7fELF", b"\x7fELF" + bytes(100), b"PK\x03\x04" * 20, WHOLE[:-1], WHOLE[:80]]
)
def test_what_is_no_whole_elf_file_is_damage(content: bytes) -> None:
    with pytest.raises(Damaged, match="ELF file"):
        read(content)


def test_without_section_headers_nothing_can_be_told() -> None:
    stripped = bytearray(WHOLE)
    stripped[40:48] = bytes(8)
    stripped[60:64] = bytes(4)
    with pytest.raises(Damaged, match="with 0 sections"):
        read(bytes(stripped))


def test_a_section_beyond_the_end_is_damage() -> None:
    content = bytearray(WHOLE)
    whole = open_elf(BytesIO(WHOLE))
    header = whole["e_shoff"] + whole["e_shentsize"] * (whole.get_section_index(".rodata") or 0)
    content[header + 32 : header + 40] = len(WHOLE).to_bytes(8, "little")
    with pytest.raises(Damaged, match=r"section \.rodata ends beyond"):
        read(bytes(content))


@pytest.mark.parametrize(("sets", "versions"), [(3, 0xFFFF), (0xFFFFFFFF, 0)])
def test_endless_symbol_versions_are_damage(sets: int, versions: int) -> None:
    content = bytearray(elf(versions={"libc.so.6": ["GLIBC_2.17"]}))
    whole = open_elf(BytesIO(bytes(content)))
    index = whole.get_section_index(".gnu.version_r") or 0
    section = whole.get_section(index)
    header = whole["e_shoff"] + whole["e_shentsize"] * index
    content[header + 44 : header + 48] = sets.to_bytes(4, "little")
    content[section["sh_offset"] + 2 : section["sh_offset"] + 4] = versions.to_bytes(2, "little")
    with pytest.raises(Damaged, match="symbol versions"):
        read(bytes(content))


@given(changes=st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_changed_bytes_give_a_value_or_damage(changes: list[tuple[int, int]]) -> None:
    content = bytearray(WHOLE)
    for at, byte in changes:
        content[at] = byte
    with suppress(Damaged):
        read(bytes(content))


@given(content=st.binary(max_size=400))
def test_any_bytes_give_a_value_or_damage(content: bytes) -> None:
    with suppress(Damaged):
        read(b"\x7fELF\x02\x01\x01" + content)


def test_an_own_name_is_read() -> None:
    assert read(elf(soname="libx.so.1", needed=["libc.so.6"])).soname == "libx.so.1"
    assert not read(elf(needed=["libc.so.6"])).soname


@pytest.mark.parametrize(
    ("symbols", "shared"), [(["other"], False), (["lib"], True), (["a/lib"], True), ([], True)], ids=str
)
def test_a_search_path_is_found_where_it_stands_and_says_who_else_uses_its_text(
    symbols: list[str], shared: bool
) -> None:
    content = elf(needed=["libc.so.6"], rpath="/old", runpath="/a/lib", symbols=symbols)
    found = read_search_path(open_elf(BytesIO(content)))
    assert found is not None
    assert (found.text, found.shared) == ("/a/lib", shared)
    assert content[found.start :].startswith(b"/a/lib\0")


def test_a_file_without_a_search_path_has_none() -> None:
    assert read_search_path(open_elf(BytesIO(elf(needed=["libc.so.6"])))) is None


def test_the_reader_agrees_with_a_real_interpreter() -> None:
    found = read(Path(sys.executable).resolve().read_bytes())
    assert "libc.so.6" in found.needed
    assert found.versions["GLIBC"] >= Release("2")


@given(data=st.binary(max_size=400), keep=st.integers(0, 900))
def test_a_damaged_search_path_is_told_as_that(data: bytes, keep: int) -> None:
    with suppress(Damaged):
        read_search_path(open_elf(BytesIO(elf(runpath="/a/lib", symbols=["f"])[:keep] + data)))

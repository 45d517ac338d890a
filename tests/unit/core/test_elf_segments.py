"""Dynamic names are found by segments as by sections; a damaged file has none."""

from __future__ import annotations

import sys
from contextlib import suppress
from io import BytesIO
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.elf import open_elf, read_shared_object
from envbuilder.core.elf_segments import read_dynamic_names
from tests.unit.image.layers.wheels import shared_library


def needed(content: bytes) -> list[str]:
    names = read_dynamic_names(BytesIO(content))
    return [content[place:].partition(b"\0")[0].decode() for place in names.needed]


def test_a_real_library_has_the_same_dependencies_as_by_its_sections() -> None:
    program = Path(sys.executable).resolve().read_bytes()
    assert needed(program) == list(read_shared_object(open_elf(BytesIO(program))).needed) != []


def test_the_string_table_has_all_names() -> None:
    program = Path(sys.executable).resolve().read_bytes()
    names = read_dynamic_names(BytesIO(program))
    assert names.strings is not None
    table = program[names.strings :][: names.size]
    assert all(f"\0{name}\0".encode() in table for name in needed(program))
    assert table.endswith(b"\0")


def test_a_file_without_sections_has_its_dependencies_too() -> None:
    assert needed(shared_library(("liba.so.1", "libb.so.2"))) == ["liba.so.1", "libb.so.2"]


@given(place=st.integers(0, 300), value=st.integers(0, 255), end=st.integers(0, 400))
def test_a_damaged_file_gives_offsets_or_an_error_that_is_named(place: int, value: int, end: int) -> None:
    content = bytearray(shared_library(("liba.so.1", "libb.so.2")))
    content[min(place, len(content) - 1)] = value
    with suppress(OSError, ValueError, OverflowError):
        assert all(isinstance(each, int) for each in read_dynamic_names(BytesIO(bytes(content[:end]))).needed)

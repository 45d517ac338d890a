"""Whatever is wrong with a file, its reader ends with an answer or with what pyelftools raises."""

from __future__ import annotations

import io
import struct

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.curation.wheel_audit.code import CudnnReading, avx_need, cudnn_reading, opened_sonames
from tests.unit.curation.wheel_audit.code.elves import CODE, ROOM, elf, elf_bytes

INIT = "_ZN15stream_executor3gpu12CudnnSupport4InitEv"
COMPATIBLE = "_ZN15stream_executor3gpu34IsSourceCompatibleWithCudnnLibraryENS0_12CudnnVersionES1_"
LOADER = "_ZN3tsl8internal9DsoLoader20GetCusolverDsoHandleEv"
OWN = "_ZN10tensorflow6StatusEv"

WHOLE = elf_bytes(dict.fromkeys((INIT, COMPATIBLE, LOADER, OWN), b"U\xc3"), imports=["_ZNSsC1EPKcRKSaIcE"])
OF_PYELFTOOLS = (
    ELFError, ConstructError, struct.error, ValueError, OverflowError, LookupError, TypeError, AttributeError,
    AssertionError,
)  # fmt: skip
HEADERS = range(CODE + 4 * ROOM, len(WHOLE))
"""Symbols, names and the tables of sections and segments."""


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_code_gives_an_answer(first: bytes, second: bytes) -> None:
    file = elf({INIT: first, COMPATIBLE: second, LOADER: first + second, OWN: second}, imports=["_ZNSsC1EPKcRKSaIcE"])

    assert isinstance(cudnn_reading(file), CudnnReading | None)
    assert isinstance(avx_need(file), bool | None)
    assert all(soname.startswith("lib") for _, soname in opened_sonames(file))


@given(st.lists(st.tuples(st.sampled_from([*range(64), *HEADERS]), st.integers(0, 255)), max_size=8))
def test_a_damaged_file_gives_an_answer_or_an_error_of_pyelftools(changes: list[tuple[int, int]]) -> None:
    content = bytearray(WHOLE)
    for place, value in changes:
        content[place] = value
    try:
        file = ELFFile(io.BytesIO(content))
        answers = cudnn_reading(file), avx_need(file), opened_sonames(file)
    except OF_PYELFTOOLS:
        return
    assert answers[2] == ()


@given(st.integers(0, len(WHOLE)))
def test_a_cut_file_gives_an_answer_or_an_error_of_pyelftools(size: int) -> None:
    try:
        file = ELFFile(io.BytesIO(WHOLE[:size]))
        assert cudnn_reading(file) is None
        assert opened_sonames(file) == ()
    except OF_PYELFTOOLS:
        return

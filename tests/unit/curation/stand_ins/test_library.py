"""A stand-in has the name and the functions of the real library, and every function refuses."""

from __future__ import annotations

import ctypes
import io
import os
from pathlib import Path

import pytest

from envbuilder.core.elf import open_elf, read_shared_object
from envbuilder.core.errors import ToolMissing
from envbuilder.curation.stand_ins.imported_symbols import ImportedSymbol
from envbuilder.curation.stand_ins.library import MARKER, compiled, stand_in
from tests.unit.curation.stand_ins.clients import CUBLAS, DRIVER, RUNTIME, client_file, stand_in_file


def test_it_has_the_soname_and_needs_no_other_library(tmp_path: Path) -> None:
    content = stand_in_file(tmp_path, "libcublas.so.9.0", CUBLAS).read_bytes()
    linked = read_shared_object(open_elf(io.BytesIO(content)))
    assert (linked.soname, linked.needed) == ("libcublas.so.9.0", ())


def test_every_function_returns_an_error(tmp_path: Path) -> None:
    library = ctypes.CDLL(str(stand_in_file(tmp_path, "libcublas.so.9.0", CUBLAS)))
    assert [getattr(library, symbol.name)() for symbol in CUBLAS] == [1, 1]


def test_the_driver_says_that_there_is_no_gpu(tmp_path: Path) -> None:
    library = ctypes.CDLL(str(stand_in_file(tmp_path, "libcuda.so.1", DRIVER)))
    assert library.cuInit(0) == 100


def test_a_function_that_returns_a_text_says_what_the_library_is(tmp_path: Path) -> None:
    library = ctypes.CDLL(str(stand_in_file(tmp_path, "libcudart.so.9.0", RUNTIME)))
    library.cudaGetErrorString.restype = ctypes.c_char_p
    assert library.cudaGetErrorString(0) == b"libcudart.so.9.0 is a stand-in of envbuilder"


@pytest.mark.parametrize(
    ("soname", "imports"), [("libcublas.so.9.0", CUBLAS), ("libcuda.so.1", DRIVER), ("libcufft.so.10", ())]
)
def test_it_carries_the_marker(tmp_path: Path, soname: str, imports: tuple[ImportedSymbol, ...]) -> None:
    library = ctypes.CDLL(str(stand_in_file(tmp_path, soname, imports)))
    assert ctypes.c_int.in_dll(library, MARKER).value == 1


def test_a_program_linked_against_versioned_symbols_starts(tmp_path: Path) -> None:
    cublas = stand_in_file(tmp_path, "libcublas.so.9.0", CUBLAS)
    client = client_file(tmp_path, [symbol.name for symbol in CUBLAS], cublas)
    ctypes.CDLL(str(cublas), mode=ctypes.RTLD_GLOBAL)
    assert ctypes.CDLL(str(client)).call_cublasSgemm_v2() == 1


def test_functions_of_other_libraries_are_left_out() -> None:
    assert "cuInit" not in stand_in("libcublas.so.9.0", (*CUBLAS, *DRIVER)).code


def test_the_same_source_gives_the_same_bytes() -> None:
    source = stand_in("libcublas.so.9.0", CUBLAS)
    assert compiled(source, os.environ["PATH"]) == compiled(source, os.environ["PATH"])


def test_a_missing_compiler_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="C compiler") as caught:
        compiled(stand_in("libcublas.so.9.0", CUBLAS), str(tmp_path))
    assert "gcc" in caught.value.hint

"""The CUDA functions that a wheel imports are read with the library and the version that each belongs to."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from envbuilder.core.elf import open_elf
from envbuilder.core.errors import InvalidInput
from envbuilder.curation.stand_ins.imported_symbols import ImportedSymbol, imported_symbols, wheel_imports
from tests.unit.curation.stand_ins.clients import CUBLAS, DRIVER, RUNTIME, client_file, stand_in_file


def imports_of(path: Path) -> frozenset[ImportedSymbol]:
    return imported_symbols(open_elf(io.BytesIO(path.read_bytes())))


def test_functions_are_read_with_library_and_version(tmp_path: Path) -> None:
    libraries = (
        stand_in_file(tmp_path, "libcublas.so.9.0", CUBLAS),
        stand_in_file(tmp_path, "libcudart.so.9.0", RUNTIME),
        stand_in_file(tmp_path, "libcuda.so.1", DRIVER),
    )
    every = (*CUBLAS, *RUNTIME, *DRIVER)

    client = client_file(tmp_path, [symbol.name for symbol in every], *libraries)

    assert imports_of(client) == frozenset(every)


def test_functions_that_only_look_like_cuda_are_left_out(tmp_path: Path) -> None:
    client = client_file(tmp_path, ["curl_easy_init", "cublas", "customize", "xcuInit", "cuInit"])

    assert {symbol.name for symbol in imports_of(client)} == {"cuInit"}


def test_functions_that_a_library_defines_itself_are_left_out(tmp_path: Path) -> None:
    assert imports_of(stand_in_file(tmp_path, "libcublas.so.9.0", CUBLAS)) == frozenset()


def test_a_wheel_gives_the_imports_of_all_its_libraries_sorted(tmp_path: Path) -> None:
    cublas = stand_in_file(tmp_path, "libcublas.so.9.0", CUBLAS)
    wheel = tmp_path / "tensorflow_gpu-1.7.1-cp36-cp36m-manylinux1_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(client_file(tmp_path, ["cuInit"]), "tensorflow/libtensorflow_framework.so")
        archive.write(client_file(tmp_path, ["cublasCreate_v2", "cuInit"], cublas), "tensorflow/python/_pywrap.so")
        archive.writestr("tensorflow/scripts.so", "INPUT(libc.so)")

    assert wheel_imports(wheel, tmp_path) == (CUBLAS[0], DRIVER[1])


def test_a_damaged_library_is_named(tmp_path: Path) -> None:
    wheel = tmp_path / "tensorflow_gpu-1.7.1-cp36-cp36m-manylinux1_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tensorflow/lib.so", client_file(tmp_path, ["cuInit"]).read_bytes()[:100])

    with pytest.raises(InvalidInput, match=r"tensorflow/lib\.so"):
        wheel_imports(wheel, tmp_path)

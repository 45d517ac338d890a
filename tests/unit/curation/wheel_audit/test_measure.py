"""Wheels made by hand, taken apart: what is measured, what is merged, what is refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.catalog.cuda import CudnnNeed, CudnnRule, KernelFamily
from envbuilder.core.elf import read_shared_object
from envbuilder.core.errors import InvalidInput
from envbuilder.core.versions import Release
from envbuilder.curation.wheel_audit.code import CudnnReading
from envbuilder.curation.wheel_audit.document import record
from envbuilder.curation.wheel_audit.measure import CodeReaders, measure
from envbuilder.curation.wheel_audit.measurement import Measurement
from tests.unit.curation.wheel_audit.wheels import (
    CUBIN,
    FRAMEWORK,
    INFO,
    LZ4,
    METADATA,
    NAME,
    PTX,
    ZSTD,
    elf,
    entry,
    fatbin,
    lz4,
    ptx,
    wheel,
)

CC = "tensorflow/libtensorflow_cc.so.2"
SIDE = "tensorflow/python/_nccl_ops.so"
BUILD_INFO = "tensorflow/python/platform/build_info.py"


def reading(compiled: str, rule: CudnnRule = CudnnRule.SAME_MAJOR_AT_LEAST) -> CudnnReading:
    return CudnnReading(compiled=compiled, rule=rule)


def silent(*, cudnn: Mapping[str, CudnnReading] | None = None, avx: Mapping[str, bool] | None = None) -> CodeReaders:
    """Readers that know a library by its first dependency."""

    def first(library: ELFFile) -> str:
        return read_shared_object(library).needed[0]

    return CodeReaders(
        cudnn=lambda library: (cudnn or {}).get(first(library)),
        opened=lambda library: (("Cublas", "libcublas.so.12"), ("Self", first(library))),
        avx=lambda library: (avx or {}).get(first(library)),
    )


NOTHING = CodeReaders(cudnn=lambda _: None, opened=lambda _: (), avx=lambda _: None)


def measured(folder: Path, members: Mapping[str, bytes | str] | None = None, *, name: str = NAME) -> Measurement:
    return measure(wheel(folder, members, name=name), folder, NOTHING)


def test_a_wheel_is_told_by_name_hash_and_metadata(tmp_path: Path) -> None:
    path = wheel(tmp_path)
    seen = measure(path, tmp_path, NOTHING)
    assert (seen.metadata.package, seen.metadata.version, seen.file) == ("tensorflow", "2.99.0", NAME)
    assert seen.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert seen.size == path.stat().st_size
    assert seen.python_tag == "cp312-cp312"
    assert seen.platform_tag == "manylinux_2_17_x86_64.manylinux2014_x86_64"
    assert seen.metadata.tags == ("cp312-cp312-manylinux_2_17_x86_64", "cp312-cp312-manylinux2014_x86_64")
    assert seen.metadata.requires_python == ">=3.9"
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_floors_are_the_newest_of_all_libraries(tmp_path: Path) -> None:
    side = elf(versions={"libc.so.6": ["GLIBC_2.27"], "libstdc++.so.6": ["GLIBCXX_3.4.9", "CXXABI_1.3.7"]})
    seen = measured(tmp_path, {SIDE: side})
    assert (seen.glibc, seen.glibcxx, seen.cxxabi) == (Release("2.27"), Release("3.4.9"), Release("1.3.7"))
    assert [library.path for library in seen.libraries] == [FRAMEWORK, SIDE]
    assert [library.path for library in seen.main_libraries] == [FRAMEWORK]


def test_floors_that_nothing_needs_are_not_made_up(tmp_path: Path) -> None:
    seen = measured(tmp_path, {FRAMEWORK: elf()})
    assert (seen.glibc, seen.glibcxx, seen.cxxabi) == (None, None, None)


def test_needed_cuda_libraries_name_those_that_need_them(tmp_path: Path) -> None:
    members = {
        FRAMEWORK: elf(needed=["libcudart.so.9.0", "libcudnn.so.7", "libcuda.so.1", "libcurious.so.1", "libc.so.6"]),
        SIDE: elf(needed=["libcudart.so.9.0", "libnccl.so.2"]),
    }
    seen = measured(tmp_path, members)
    assert seen.linkage == "needed"
    assert seen.needed_cuda == (
        ("libcuda.so.1", ("libtensorflow_framework.so.2",)),
        ("libcudart.so.9.0", ("_nccl_ops.so", "libtensorflow_framework.so.2")),
        ("libcudnn.so.7", ("libtensorflow_framework.so.2",)),
        ("libnccl.so.2", ("_nccl_ops.so",)),
    )
    assert seen.sonames == ("libcudart.so.9.0", "libcudnn.so.7")
    assert seen.compiled == Release("9.0")


def test_a_side_library_alone_does_not_make_the_import_need_cuda(tmp_path: Path) -> None:
    assert measured(tmp_path, {SIDE: elf(needed=["libnccl.so.2"])}).linkage == ""


def test_gpu_code_makes_a_cuda_build_that_opens_its_libraries(tmp_path: Path) -> None:
    code = elf(needed=["first"], data={".nv_fatbin": fatbin(entry(CUBIN, 70))})
    seen = measure(wheel(tmp_path, {FRAMEWORK: code}), tmp_path, silent())
    assert seen.linkage == "dlopen"
    assert seen.opened == (("Cublas", "libcublas.so.12"), ("Self", "first"))
    assert seen.sonames == ("first", "libcublas.so.12")
    assert seen.compiled is None


def test_a_cpu_wheel_opens_nothing_that_a_row_would_name(tmp_path: Path) -> None:
    seen = measure(wheel(tmp_path, {BUILD_INFO: "is_cuda_build = False"}), tmp_path, silent())
    assert (seen.linkage, seen.sonames, seen.families) == ("", (), ())
    assert seen.build_info == (("is_cuda_build", False),)


@pytest.mark.parametrize(
    "place", [BUILD_INFO, f"tensorflow-2.99.0.data/purelib/{BUILD_INFO}", BUILD_INFO.replace("/", "_core/", 1)]
)
def test_build_info_is_found_where_old_wheels_keep_it(tmp_path: Path, place: str) -> None:
    seen = measured(tmp_path, {place: "build_info = {'cuda_version': '12.5.1', 'is_cuda_build': True}"})
    assert (seen.linkage, seen.compiled) == ("dlopen", Release("12.5.1"))


def test_a_major_number_in_build_info_is_too_little_to_be_the_release(tmp_path: Path) -> None:
    members: dict[str, bytes | str] = {
        BUILD_INFO: "is_cuda_build = True\ncuda_version_number = '10'",
        FRAMEWORK: elf(needed=["libcudart.so.10.0"]),
    }
    assert measured(tmp_path, members).compiled == Release("10.0")


def test_families_are_merged_over_libraries_and_told_apart_in_each(tmp_path: Path) -> None:
    members = {
        FRAMEWORK: elf(data={".nv_fatbin": fatbin(entry(CUBIN, 70), entry(PTX, 80, ptx("8.1", "sm_80")))}),
        CC: elf(
            data={
                ".nv_fatbin": fatbin(entry(CUBIN, 80)),
                ".rodata": fatbin(entry(CUBIN, 70), entry(PTX, 90, lz4(ptx("8.5", "sm_90a")), flags=LZ4)),
            }
        ),
    }
    seen = measured(tmp_path, members)
    assert seen.families == (
        KernelFamily(name="cuda", machine=(Release("7.0"), Release("8.0")), ptx=(Release("8.0"),), isa=Release("8.1")),
        KernelFamily(
            name="mlir", machine=(Release("7.0"),), ptx=(Release("9.0"),), forward=False, isa=Release("8.5")
        ),
    )  # fmt: skip
    cc, framework = seen.libraries
    assert [code.name for code in cc.code] == ["cuda", "mlir"]
    assert [code.machine for code in framework.code] == [(Release("7.0"),)]


def test_a_bundled_library_of_nvidia_says_nothing_about_tensorflows_kernels(tmp_path: Path) -> None:
    members = {
        FRAMEWORK: elf(data={".nv_fatbin": fatbin(entry(CUBIN, 70))}),
        "tensorflow/contrib/tensorrt/libnvinfer.so.4": elf(data={".nv_fatbin": fatbin(entry(CUBIN, 50))}),
    }
    seen = measured(tmp_path, members)
    assert [family.machine for family in seen.families] == [(Release("7.0"),)]
    assert [code.machine for code in seen.libraries[0].code] == [(Release("5.0"),)]


def test_ptx_that_cannot_be_read_promises_nothing_to_newer_gpus(tmp_path: Path) -> None:
    code = elf(data={".nv_fatbin": fatbin(entry(PTX, 90, bytes(16), flags=ZSTD))})
    (family,) = measured(tmp_path, {FRAMEWORK: code}).families
    assert (family.ptx, family.isa, family.forward) == ((Release("9.0"),), None, False)


def test_machine_code_is_read_in_the_main_libraries_only(tmp_path: Path) -> None:
    members = {FRAMEWORK: elf(needed=["a"]), CC: elf(needed=["b"]), SIDE: elf(needed=["c"])}
    readers = silent(cudnn={"a": reading("8.9"), "b": reading("9.3"), "c": reading("9.9")}, avx={"a": False, "c": True})
    seen = measure(wheel(tmp_path, members), tmp_path, readers)
    assert seen.cudnn == CudnnNeed(compiled=Release("9.3"), rule=CudnnRule.SAME_MAJOR_AT_LEAST)
    assert seen.needs_avx is False
    assert seen.opened == (("Cublas", "libcublas.so.12"), ("Self", "a"), ("Self", "b"))


def test_one_library_with_avx_is_enough_and_none_that_tells_is_not_no(tmp_path: Path) -> None:
    members = {FRAMEWORK: elf(needed=["a"]), CC: elf(needed=["b"])}
    path = wheel(tmp_path, members)
    assert measure(path, tmp_path, silent(avx={"a": False, "b": True})).needs_avx is True
    assert measure(path, tmp_path, silent()).needs_avx is None


def test_folders_of_nvidias_packages_are_those_of_the_framework(tmp_path: Path) -> None:
    paths = ["$ORIGIN/", "$ORIGIN/../nvidia/cudnn/lib", "$ORIGIN/../../nvidia/cublas/lib", "$ORIGIN/../tensorrt"]
    members = {FRAMEWORK: elf(runpath=":".join(paths)), SIDE: elf(runpath="$ORIGIN/../nvidia/nccl/lib")}
    assert measured(tmp_path, members).nvidia_folders == ("cublas", "cudnn", "tensorrt")


def test_a_record_has_the_names_of_the_facts_and_is_json(tmp_path: Path) -> None:
    code = fatbin(entry(CUBIN, 70), entry(PTX, 90, ptx("8.5", "sm_90a")))
    members = {FRAMEWORK: elf(needed=["libcudart.so.12", "libc.so.6"], data={".rodata": code})}
    readers = silent(cudnn={"libcudart.so.12": reading("9.3")}, avx={"libcudart.so.12": True})
    seen = record(measure(wheel(tmp_path, members), tmp_path, readers))
    assert json.loads(json.dumps(seen)) == seen
    header = {
        "family": "mlir_kernels_rodata", "fatbin_with_matching_cubin": False, "ptx_arch": 90, "ptx_isa": "8.5",
        "target": "sm_90a",
    }  # fmt: skip
    expected = {
        "package": "tensorflow",
        "version": "2.99.0",
        "python_tag": "cp312-cp312",
        "requires_python": ">=3.9",
        "and_cuda_pins": None,
        "build_info": None,
        "glibc_max": None,
        "elf_needed_main": {"libtensorflow_framework.so.2": ["libcudart.so.12", "libc.so.6"]},
        "needed_cuda_libs": {"libcudart.so.12": ["libtensorflow_framework.so.2"]},
        "linkage": "needed",
        "dlopen_sonames": {"Cublas": "libcublas.so.12", "Self": "libcudart.so.12"},
        "gpu_archs": {"mlir_kernels_rodata": {"cubin": [70], "ptx": [90]}},
        "ptx_headers": [header],
        "cudnn_compiled_against": "9.3",
        "cudnn_runtime_rule": "same major, minor >= compiled minor",
        "needs_avx": True,
        "framework_runpath_nvidia_dirs": None,
    }
    assert expected.items() <= seen.items()
    libraries = seen["libraries"]
    assert isinstance(libraries, list)
    assert libraries[0]["gpu_code"] == [
        {"family": "mlir_kernels_rodata", "fatbins": 1, "cubin": [70], "ptx": [header]}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({f"{INFO}/METADATA": ""}, "it has 0 files"),
        ({"other-1.dist-info/WHEEL": "Tag: x"}, "it has 2 files"),
        ({f"{INFO}/METADATA": "Name: tensorflow\n"}, "METADATA: names no version"),
        ({FRAMEWORK: ""}, "contains no shared library"),
        ({FRAMEWORK: b"MZ is for Windows"}, r"libtensorflow_framework\.so\.2: has the name of a shared library"),
        ({FRAMEWORK: b"\x7fELF\x02\x01\x01" + bytes(9)}, r"libtensorflow_framework\.so\.2: a damaged ELF file"),
        ({FRAMEWORK: elf(data={".nv_fatbin": fatbin(entry(CUBIN, 70))[:-8]})}, "broken fatbin"),
        ({BUILD_INFO: "def ("}, r"build_info\.py: is not Python"),
    ],
)  # fmt: skip
def test_what_is_no_whole_wheel_is_refused_by_name(
    tmp_path: Path, members: Mapping[str, bytes | str], problem: str
) -> None:
    with pytest.raises(InvalidInput, match=problem):
        measured(tmp_path, members)


def test_another_file_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not the file name of a wheel"):
        measured(tmp_path, name="tensorflow.zip")


def test_our_own_readers_are_used_when_none_are_given(tmp_path: Path) -> None:
    assert measure(wheel(tmp_path), tmp_path).cudnn is None


@given(changes=st.lists(st.tuples(st.integers(0, 1200), st.integers(0, 255)), min_size=1, max_size=5))
def test_changed_bytes_give_a_measurement_or_our_error(changes: list[tuple[int, int]]) -> None:
    with TemporaryDirectory() as name:
        path = wheel(Path(name), {f"{INFO}/METADATA": METADATA})
        content = bytearray(path.read_bytes())
        for at, byte in changes:
            content[at % len(content)] = byte
        path.write_bytes(bytes(content))
        with suppress(InvalidInput):
            measure(path, Path(name), NOTHING)


@given(content=st.binary(max_size=200))
def test_any_bytes_under_the_name_of_a_wheel_are_our_error(content: bytes) -> None:
    with TemporaryDirectory() as name:
        path = Path(name) / NAME
        path.write_bytes(content)
        with pytest.raises(InvalidInput):
            measure(path, Path(name), NOTHING)

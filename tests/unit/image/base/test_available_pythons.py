"""Interpreters of this machine are measured without running them."""

from __future__ import annotations

import struct
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from envbuilder.core.versions import Release
from envbuilder.image.base.available_pythons import is_of_system, needed_glibc, python_programs
from envbuilder.image.base.python_survey import InterpreterSurvey

SERIES = f"{sys.version_info[0]}.{sys.version_info[1]}"


def installed(prefix: Path, files: Mapping[str, bytes] | None = None) -> Path:
    """An interpreter of 3.6 whose files hold some bytes."""
    for name, content in {"bin/python3.6": b"", **(files or {})}.items():
        (prefix / name).parent.mkdir(parents=True, exist_ok=True)
        (prefix / name).write_bytes(content)
    return prefix / "bin" / "python3.6"


def test_the_program_of_these_tests_needs_what_its_elf_files_say() -> None:
    program = Path(sys.base_prefix) / "bin" / f"python{SERIES}"
    survey = InterpreterSurvey()
    real = program.resolve()
    for file in (real, *real.parent.parent.glob(f"lib/python{SERIES}/lib-dynload/*.so")):
        survey.meet(str(file), file.read_bytes())
    found = needed_glibc(program)
    assert found is not None
    assert found >= survey.glibc > Release("2.2")


def test_the_newest_version_of_program_library_and_modules_counts(tmp_path: Path) -> None:
    files = {
        "lib/libpython3.6m.so.1.0": b"\0GLIBC_2.14\0GLIBC_2.9\0",
        "lib/python3.6/lib-dynload/_ssl.so": b"x\0GLIBC_2.17\0GLIBC_PRIVATE\0",
        "lib/python3.6/site-packages/other.so": b"\0GLIBC_2.99\0",
    }
    program = installed(tmp_path, files)
    assert needed_glibc(program) == Release("2.17")


def elf(table: int, strings: bytes = b"\0GLIBC_2.28\0", rest: bytes = b"") -> bytes:
    """An ELF file whose only content is the string table of the dynamic linker, which begins at an offset."""
    header = b"\x7fELF\x02\x01".ljust(32, b"\0") + struct.pack("<Q14xHH6x", 64, 56, 2)
    dynamic = struct.pack("<qQqQqQ", 5, 0x1000, 10, len(strings), 0, 0)
    loaded = struct.pack("<IIQQQQQQ", 1, 4, table, 0x1000, 0, len(strings), len(strings), 4096)
    described = struct.pack("<IIQQQQQQ", 2, 4, 176, 0x2000, 0, len(dynamic), len(dynamic), 8)
    return header + loaded + described + dynamic + strings + rest


AFTER_THE_TABLE = 224


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (elf(AFTER_THE_TABLE, rest=b"\0GLIBC_2.99\0"), Release("2.28")),
        (elf(2**64 - 1), None),
        (elf(AFTER_THE_TABLE)[:100] + b"\0GLIBC_2.31\0", Release("2.31")),
    ],
    ids=["other data names a version too", "damaged", "cut off"],
)
def test_the_string_tables_of_an_elf_file_count(tmp_path: Path, content: bytes, found: Release | None) -> None:
    assert needed_glibc(installed(tmp_path, {"bin/python3.6": content})) == found


def test_a_program_for_another_c_library_is_not_measured(tmp_path: Path) -> None:
    assert needed_glibc(installed(tmp_path)) is None
    assert needed_glibc(tmp_path / "none") is None


def test_an_interpreter_of_the_operating_system_is_told_apart(tmp_path: Path) -> None:
    assert is_of_system(Path("/usr/bin/python3.6"))
    assert not is_of_system(installed(tmp_path))


def test_programs_of_pyenv_and_of_the_path_are_found_once(tmp_path: Path) -> None:
    program = installed(tmp_path / ".pyenv" / "versions" / "3.6.15")
    environ = {"HOME": str(tmp_path), "PATH": str(program.parent)}
    assert [found for found in python_programs(Release("3.6"), environ) if found.is_relative_to(tmp_path)] == [program]

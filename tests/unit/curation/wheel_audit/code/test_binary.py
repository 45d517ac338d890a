from __future__ import annotations

import re

import pytest

from envbuilder.curation.wheel_audit.code.binary import Binary, Function
from tests.unit.curation.wheel_audit.code.elves import CODE, DATA, ROOM, elf, stub

NAME = re.compile(rb"_ZN4Some\d+[A-Za-z]+Ev")


def test_functions_are_found_by_name() -> None:
    binary = Binary(elf({"_ZN4Some3TwoEv": b"\x90\xc3", "_ZN4Some3OneEv": b"\xc3", "_ZN5Other3OneEv": b"\xc3"}))

    assert binary.functions(NAME) == (
        Function(name="_ZN4Some3OneEv", address=CODE + ROOM, size=1),
        Function(name="_ZN4Some3TwoEv", address=CODE, size=2),
    )


def test_a_longer_name_is_another_one() -> None:
    binary = Binary(elf({"_ZN4Some3OneEvE4site": b"\xc3", "_ZZN4Some3OneEv.cold": b"\xc3"}))

    assert binary.functions(NAME) == ()


def test_functions_of_other_libraries_are_not_found() -> None:
    assert Binary(elf({}, imports=["_ZN4Some3OneEv"])).functions(NAME) == ()


def test_the_full_table_is_read_when_no_other_library_sees_the_name() -> None:
    hidden = elf({"_ZN4Some3OneEv": b"\xc3"}, table=".symtab")

    assert [found.name for found in Binary(hidden).functions(NAME)] == ["_ZN4Some3OneEv"]


@pytest.mark.parametrize("number", [1155, 1200])
def test_names_beyond_the_first_mebibyte_are_found_once(number: int) -> None:
    many = {f"_ZN5Other{each:0>900}E": b"\xc3" for each in range(number)}

    binary = Binary(elf({"_ZN4Some3OneEv": b"\xc3", **many, "_ZN4Some3TwoEv": b"\xc3"}))

    assert [found.name for found in binary.functions(NAME)] == ["_ZN4Some3OneEv", "_ZN4Some3TwoEv"]


def test_bytes_and_texts_are_read_by_address() -> None:
    binary = Binary(elf({"f": b"\xc3"}, data=b"11.0\0cudart\0\xff\0"))

    assert binary.read(DATA, 4) == b"11.0"
    assert binary.text(DATA + 5) == "cudart"
    assert binary.code(Function(name="f", address=CODE, size=1)) == b"\xc3"


def test_what_is_no_text_is_none() -> None:
    binary = Binary(elf({"f": b"\xc3"}, data=b"\xff\xfe\0" + b"a" * 100))

    assert binary.text(DATA) is None
    assert binary.text(DATA + 3) is None, "too long"
    assert binary.text(0x7000_0000) is None


def test_addresses_outside_the_file_have_no_bytes() -> None:
    binary = Binary(elf({"f": b"\xc3"}))

    assert binary.read(0x7000_0000, 4) == b""
    assert binary.read(-4, 4) == b""
    assert binary.read(CODE + ROOM - 2, 4) == b"\0\0"


def test_a_stub_has_the_name_of_what_it_jumps_to() -> None:
    binary = Binary(elf({"f": b"\xc3"}, imports=["first", "second"]))

    assert (binary.imported(stub(0)), binary.imported(stub(1))) == ("first", "second")


def test_a_stub_may_begin_with_endbr64() -> None:
    assert Binary(elf({}, imports=["first"], protected_stubs=True)).imported(stub(0)) == "first"


def test_other_code_is_no_stub() -> None:
    binary = Binary(elf({"f": b"\xff\xe0", "g": b"\xff\x25\x00\x00\x00\x00"}, imports=["first"]))

    assert binary.imported(CODE) == ""
    assert binary.imported(CODE + ROOM) == "", "nothing is written to that slot"
    assert binary.imported(0x7000_0000) == ""


def test_a_sample_takes_each_function_at_most_once() -> None:
    binary = Binary(elf({f"f{number}": b"\xc3" for number in range(50)}, imports=["outside"]))

    every = [function.name for function in binary.sampled(1000)]
    some = [function.name for function in binary.sampled(10)]

    assert sorted(every) == sorted(f"f{number}" for number in range(50))
    assert len(some) == len(set(some)) <= 10


def test_a_file_without_symbols_has_no_functions() -> None:
    binary = Binary(elf({}, table=".nothing"))

    assert (binary.functions(NAME), list(binary.sampled(10)), binary.imported(CODE)) == ((), [], "")

from __future__ import annotations

import pytest

from envbuilder.curation.wheel_audit.code import opened_sonames
from tests.unit.curation.wheel_audit.code.elves import CODE, DATA, ROOM, Code, elf, stub

RUNTIME = "_ZN15stream_executor8internal9DsoLoader23GetCudaRuntimeDsoHandleEv"
OPEN = CODE + 8 * ROOM
"""Some function of the library itself."""

OLD_STRING = "_ZNSsC1EPKcRKSaIcE"
DATA_BYTES = b"11.0\0cudart\0\0bad name\0"
VERSION, NAME, EMPTY, BAD = DATA, DATA + 5, DATA + 12, DATA + 13

SAVE_RESULT, RESULT = "4989FC", "4C89E7"  # mov r12,rdi; mov rdi,r12


def old_strings(code: Code, *, version: int = VERSION, name: int = NAME) -> Code:
    """What GCC 7 makes of `open(std::string(name), std::string(version))` with old strings."""
    code.raw("55 4889E5", SAVE_RESULT, "4C8D6DD0 488D5DD8").to("488D35", version).raw("4C89EF 4889DA").call(stub())
    code.to("488D35", name).raw("4889DF").call(stub())
    return code.raw(RESULT, "4C89EA 4889DE").call(OPEN).raw("C3")


def two_ends(code: Code, *, size: int = 6) -> Code:
    """What GCC 5 makes of it with new strings: a constructor of the library itself gets both ends of each text."""
    construct = CODE + 9 * ROOM
    code.raw("55 4889E5", SAVE_RESULT, "488D5D90 4C8D65B0").to("488D15", VERSION + 4).to("488D35", VERSION)
    code.raw("4889DF 488D4310 48894590").call(construct)
    code.to("488D15", NAME + size).to("488D35", NAME)
    code.raw("488D45B0 4889C7 488D4810 48894DB0").call(construct)
    return code.raw("488D75B0 4889DA").call(OPEN).raw("C3")


def inside(code: Code) -> Code:
    """What GCC 9 and Clang make of it with new strings: `nvinfer` and `8.6.1`, stored in pieces that overlap."""
    code.raw("55 4889E5 4883EC60 488D45D0 488945C0")
    code.number("C745D0", 0x6E69766E).number("C745D3", 0x7265666E).number("48C745C8", 7).raw("C645D700")
    code.raw("488D45B0 488945A0").number("C745B0", 0x2E362E38).raw("66C745B43100").number("48C745A8", 5)
    return code.raw("488D75C0 488D55A0").call(OPEN).raw("C3")


def with_view(code: Code, *, size: int | None = 2, name_size: int = 8) -> Code:
    """What Clang makes of it with a new string and a view: `cusolver` and the first characters of `11.0`."""
    code.raw("55 4889E5 4883EC30 488D45D8 488945C8").number("48B8", 0x7265766C6F737563, 8).raw("488945D8")
    code.number("48C745D0", name_size).raw("C645E000").to("488D0D", VERSION).raw("488D75C8")
    code = code.raw("89C2") if size is None else code.number("BA", size) if size else code.raw("31D2")
    return code.call(OPEN).raw("C3")


def read(code: Code, name: str = RUNTIME) -> tuple[tuple[str, str], ...]:
    return opened_sonames(elf({name: code.content}, imports=[OLD_STRING], data=DATA_BYTES))


@pytest.mark.parametrize(
    ("code", "soname"),
    [
        pytest.param(old_strings(Code()), "libcudart.so.11.0", id="old strings"),
        pytest.param(old_strings(Code(), version=EMPTY), "libcudart.so", id="old strings, no version"),
        pytest.param(two_ends(Code()), "libcudart.so.11.0", id="begin and end"),
        pytest.param(inside(Code()), "libnvinfer.so.8.6.1", id="stored into the string"),
        pytest.param(with_view(Code()), "libcusolver.so.11", id="a view"),
        pytest.param(with_view(Code(), size=0), "libcusolver.so", id="an empty view"),
    ],
)
def test_the_soname_is_put_together(code: Code, soname: str) -> None:
    assert read(code) == (("CudaRuntime", soname),)


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(Code().raw("55 4889E5").call(OPEN).raw("C3"), id="no strings"),
        pytest.param(old_strings(Code(), name=BAD), id="no name of a library"),
        pytest.param(old_strings(Code(), version=NAME), id="no version"),
        pytest.param(old_strings(Code(), name=0x7000_0000), id="a text outside the file"),
        pytest.param(two_ends(Code(), size=4096), id="a text that is too long"),
        pytest.param(two_ends(Code(), size=-1), id="a text that ends before it begins"),
        pytest.param(with_view(Code(), name_size=9), id="a name that was not stored whole"),
        pytest.param(with_view(Code(), name_size=60), id="a name that is not inside the string"),
        pytest.param(with_view(Code(), size=None), id="a view of unknown length"),
        pytest.param(with_view(Code(), size=4000), id="a view that is too long"),
        pytest.param(Code().raw("06"), id="no instruction"),
    ],
)
def test_a_loader_that_cannot_be_read_is_left_out(code: Code) -> None:
    assert read(code) == ()


def test_a_constructor_of_something_else_makes_no_string() -> None:
    file = elf({RUNTIME: old_strings(Code()).content}, imports=["_ZN5OtherC1EPKcRKSaIcE"], data=DATA_BYTES)

    assert opened_sonames(file) == ()


def test_the_first_of_two_sonames_counts() -> None:
    code = with_view(Code())
    code.content = code.content[:-1]

    assert read(with_view(code, size=0)) == (("CudaRuntime", "libcusolver.so.11"),)


def test_strings_are_forgotten_where_another_way_leads_in() -> None:
    code = Code().raw("55 4889E5 4883EC30 488D45D8 488945C8").number("48B8", 0x7265766C6F737563, 8).raw("488945D8")
    code.number("48C745D0", 8).raw("7400").to("488D0D", VERSION).raw("488D75C8").number("BA", 2).call(OPEN)

    assert read(code) == ()


def test_loaders_come_by_name_and_those_of_amd_do_not() -> None:
    prefix = "_ZN3tsl8internal9DsoLoader"
    names = ["22GetCudaDriverDsoHandleEv", "18GetCublasDsoHandleEv", "18GetRocfftDsoHandleEv", "15GetHipDsoHandleEv"]
    codes = {prefix + name: with_view(Code(number)).content for number, name in enumerate(names)}

    file = elf(codes, data=DATA_BYTES)

    assert opened_sonames(file) == (("Cublas", "libcusolver.so.11"), ("CudaDriver", "libcusolver.so.11"))


@pytest.mark.parametrize(
    "name",
    [
        "_ZN3tsl8internal15CachedDsoLoader23GetCudaRuntimeDsoHandleEv",
        "_ZZN3tsl8internal9DsoLoader23GetCudaRuntimeDsoHandleEvE6result",
        "_ZN9perftools8gputools8internal9DsoLoader12GetDsoHandleEN10tensorflow11StringPieceEPPv",
    ],
)
def test_other_functions_are_not_asked(name: str) -> None:
    assert read(with_view(Code()), name) == ()


def test_a_library_without_loaders_opens_nothing() -> None:
    assert opened_sonames(elf({"f": b"\xc3"})) == ()
    assert opened_sonames(elf({}, undefined=[RUNTIME])) == ()

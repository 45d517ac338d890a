from __future__ import annotations

import pytest

from envbuilder.curation.wheel_audit.code import avx_need
from tests.unit.curation.wheel_audit.code.elves import elf

OLD, NEW, WIDE = "F30F1045F8", "C5FA1045F8", "62F17C481000"  # movss, vmovss, vmovups zmm
OWN = "_ZN10tensorflow6Status{}Ev"


def own(code: str, number: int, *, begin: int = 0, name: str = OWN) -> dict[str, bytes]:
    return {name.format(each): bytes.fromhex(code * 4 + "C3") for each in range(begin, begin + number)}


@pytest.mark.parametrize(("code", "answer"), [(OLD, False), (NEW, True), (WIDE, True), ("4889E5", None)])
def test_the_encoding_of_own_code_tells(code: str, answer: bool | None) -> None:
    assert avx_need(elf(own(code, 20))) is answer


def test_too_little_code_tells_nothing() -> None:
    assert avx_need(elf(own(NEW, 9))) is None


def test_one_big_function_tells_nothing() -> None:
    assert avx_need(elf({OWN.format(0): bytes.fromhex(NEW * 200 + "C3")})) is None


def test_kernels_for_gpus_without_avx_change_nothing() -> None:
    assert avx_need(elf(own(NEW, 15) | own(OLD, 6, begin=15))) is True


def test_a_little_avx_is_not_told() -> None:
    assert avx_need(elf(own(OLD, 20) | own(NEW, 4, begin=20))) is None


@pytest.mark.parametrize(
    "name", ["_ZN5Eigen4Some{}Ev", "_ZN4dnnl4impl{}Ev", "_ZN10tensorflow3fooIN5Eigen4half{}EEEv", "function{}"]
)
def test_code_of_others_is_not_asked(name: str) -> None:
    assert avx_need(elf(own(NEW, 30, name=name))) is None


def test_zeroing_the_upper_halves_is_no_use_of_avx() -> None:
    assert avx_need(elf(own("C5F877", 30))) is None


def test_a_file_without_symbols_tells_nothing() -> None:
    assert avx_need(elf({}, table=".nothing")) is None

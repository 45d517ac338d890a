"""The wheel that an installer would take is found, whatever the order of the index."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.versions import Release
from envbuilder.lock.resolve.wheel_files import best

FILES = (
    "x-1-cp38-cp38-manylinux1_x86_64.whl",
    "x-1-cp38-cp38-manylinux2014_x86_64.whl",
    "x-1-cp38-cp38-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
    "x-1-cp38-cp38-manylinux_2_28_x86_64.whl",
    "x-1-2-cp38-cp38-manylinux_2_28_x86_64.whl",
    "x-1-cp36-abi3-manylinux2014_x86_64.whl",
    "x-1-py3-none-any.whl",
    "x-1-py2.py3-none-any.whl",
    "x-1-cp39-cp39-manylinux2014_x86_64.whl",
    "x-1-cp38-cp38-win_amd64.whl",
    "x-1-cp38-cp38-manylinux2014_aarch64.whl",
    "x-1-cp38-cp38-musllinux_1_1_x86_64.whl",
    "x-1.tar.gz",
    "nonsense.whl",
)


def chosen(files: list[str], python: str = "3.8", glibc: str = "2.31") -> str | None:
    return best(files, Release(python), Release(glibc))


@given(st.permutations(FILES), st.sampled_from(["3.6", "3.8", "3.9"]), st.sampled_from(["2.17", "2.31"]))
def test_the_choice_does_not_depend_on_the_order(files: list[str], python: str, glibc: str) -> None:
    assert chosen(files, python, glibc) == chosen(list(FILES), python, glibc)


@pytest.mark.parametrize(
    ("files", "python", "glibc", "expected"),
    [
        (list(FILES), "3.8", "2.31", "x-1-2-cp38-cp38-manylinux_2_28_x86_64.whl"),
        (list(FILES), "3.8", "2.17", "x-1-cp38-cp38-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"),
        (list(FILES), "3.8", "2.5", "x-1-cp38-cp38-manylinux1_x86_64.whl"),
        (list(FILES), "3.10", "2.31", "x-1-cp36-abi3-manylinux2014_x86_64.whl"),
        (["x-1-cp36-cp36m-manylinux1_x86_64.whl"], "3.6", "2.23", "x-1-cp36-cp36m-manylinux1_x86_64.whl"),
        (["x-1-cp38-cp38m-manylinux1_x86_64.whl"], "3.8", "2.23", None),
        (["x-1-cp38-cp38-linux_x86_64.whl"], "3.8", "2.23", "x-1-cp38-cp38-linux_x86_64.whl"),
        (list(FILES[8:]), "3.8", "2.31", None),
        ([], "3.8", "2.31", None),
    ],
)
def test_the_best_tag_that_the_image_supports_wins(
    files: list[str], python: str, glibc: str, expected: str | None
) -> None:
    assert chosen(files, python, glibc) == expected

"""build_info.py in all its forms, never run."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.corrupt_file import Damaged
from envbuilder.curation.wheel_audit.build_info import read_build_info

OLD = """
# Copyright 2017
from __future__ import absolute_import
class MyClass(object): pass
is_rocm_build = False
is_cuda_build = True
cuda_version_number = "10"
cudnn_version_number = "7"
number = 5
"""
DICTIONARY = """
build_info = {'cuda_version': '10.1', 'cuda_compute_capabilities': ['sm_35', 'compute_70'], 'is_cuda_build': True}
"""
ORDERED = """
import collections
build_info = collections.OrderedDict([("cpu_compiler", "/usr/bin/gcc-5"), ("is_cuda_build", False), ("odd", 1.5)])
"""
CALLED = """
import collections
build_info = collections.OrderedDict({"cuda_version": "11.0", "cuda_compute_capabilities": ("sm_35",), **more()})
"""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            OLD,
            {"is_rocm_build": False, "is_cuda_build": True, "cuda_version_number": "10", "cudnn_version_number": "7"},
        ),
        (
            DICTIONARY,
            {"cuda_version": "10.1", "cuda_compute_capabilities": ("sm_35", "compute_70"), "is_cuda_build": True},
        ),
        (ORDERED, {"cpu_compiler": "/usr/bin/gcc-5", "is_cuda_build": False}),
        (CALLED, {"cuda_version": "11.0", "cuda_compute_capabilities": ("sm_35",)}),
        ("", {}),
    ],
)
def test_every_form_is_read(source: str, expected: dict[str, object]) -> None:
    assert dict(read_build_info(source)) == expected


def test_nothing_is_run() -> None:
    assert read_build_info("is_cuda_build = print('ran') or exit(1)\nraise SystemExit") == ()


def test_what_is_no_python_is_damage() -> None:
    with pytest.raises(Damaged, match="is not Python"):
        read_build_info("is_cuda_build = = 1")


@given(source=st.text(max_size=60) | st.text(alphabet="[]{}()='\",ab \n:*", max_size=60))
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_any_text_gives_a_value_or_damage(source: str) -> None:
    with suppress(Damaged):
        assert isinstance(read_build_info(source), tuple)

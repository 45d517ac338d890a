"""METADATA, WHEEL and file names of wheels, old and new."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.corrupt_file import Damaged
from envbuilder.curation.wheel_audit.metadata import read_file_name, read_metadata

OLD = """Metadata-Version: 2.1
Name: tensorflow-gpu
Version: 1.15.5
Requires-Dist: absl-py (>=0.7.0)
Requires-Dist: enum34 (>=1.1.6) ; python_version < "3.4"

Requires-Dist: none (this is the description)
"""
NEW = """Metadata-Version: 2.1
Name: tensorflow
Version: 2.15.1
Requires-Python: >=3.9
Provides-Extra: and-cuda
Requires-Dist: numpy (<2.0.0,>=1.23.5)
Requires-Dist: nvidia-cublas-cu12 (==12.2.5.6) ; extra == 'and-cuda'
Requires-Dist: nvidia-cudnn-cu12==8.9.4.25; extra == "and-cuda"
Requires-Dist: nvidia-nccl-cu12 <3.0,>=2.25.1 ; extra == 'and-cuda'
Requires-Dist: tensorflow-io-gcs-filesystem>=0.23.1; python_version < "3.12" and extra == "gcs-filesystem"
"""
WHEEL = "Wheel-Version: 1.0\nTag: cp37-cp37m-linux_x86_64\nTag: cp37-cp37m-manylinux2010_x86_64\n"


def test_an_old_wheel_has_requirements_and_no_extras() -> None:
    read = read_metadata(OLD, WHEEL)
    assert (read.package, read.version, read.requires_python, read.extras) == ("tensorflow-gpu", "1.15.5", "", ())
    assert read.requires == ("absl-py (>=0.7.0)", 'enum34 (>=1.1.6) ; python_version < "3.4"')
    assert read.and_cuda == ()
    assert read.tags == ("cp37-cp37m-linux_x86_64", "cp37-cp37m-manylinux2010_x86_64")


def test_the_cuda_extra_is_kept_apart_and_other_extras_are_not() -> None:
    read = read_metadata(NEW, WHEEL)
    assert read.requires_python == ">=3.9"
    assert read.extras == ("and-cuda",)
    assert read.requires == (
        "numpy (<2.0.0,>=1.23.5)",
        'tensorflow-io-gcs-filesystem>=0.23.1; python_version < "3.12" and extra == "gcs-filesystem"',
    )
    assert read.and_cuda == (
        "nvidia-cublas-cu12==12.2.5.6", "nvidia-cudnn-cu12==8.9.4.25", "nvidia-nccl-cu12<3.0,>=2.25.1",
    )  # fmt: skip


@pytest.mark.parametrize("text", ["", "Name: tensorflow\n", "Version: 1.0\n", "Name: !!\nVersion: 1.0\n"])
def test_without_name_and_version_it_is_no_metadata(text: str) -> None:
    with pytest.raises(Damaged, match="names no"):
        read_metadata(text, WHEEL)


@given(metadata=st.text(max_size=200), wheel=st.text(max_size=80))
def test_any_text_gives_a_value_or_damage(metadata: str, wheel: str) -> None:
    with suppress(Damaged):
        read_metadata(f"Name: tensorflow\nVersion: 1\n{metadata}", wheel)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tensorflow_gpu-1.4.1-cp36-cp36m-manylinux1_x86_64.whl", ("cp36-cp36m", "manylinux1_x86_64")),
        ("tensorflow-2.0.0-1-cp37-cp37m-linux_x86_64.whl", ("cp37-cp37m", "linux_x86_64")),
    ],
)
def test_file_names_say_interpreter_and_platform(name: str, expected: tuple[str, str]) -> None:
    assert read_file_name(name) == expected


@pytest.mark.parametrize("name", ["tensorflow.whl", "tensorflow-2.0.0.tar.gz", "a-b-c-d-e-f-g.whl", ""])
def test_other_files_are_no_wheels(name: str) -> None:
    with pytest.raises(Damaged, match="not the file name of a wheel"):
        read_file_name(name)

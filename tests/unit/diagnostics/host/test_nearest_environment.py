"""The environment of the catalog that comes nearest, and in what it differs."""

from __future__ import annotations

import pytest

from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.host.examination import Nearest
from tests.fakes.catalogs import real_row
from tests.unit.diagnostics.host.pythons import cuda_file, examination, packages, python, wheel


def near(seen: Facts) -> Nearest:
    versions = examination(seen).versions
    assert versions
    assert versions.nearest
    return versions.nearest


@pytest.mark.parametrize(
    ("package", "version", "cuda", "environment", "command"),
    [
        ("tensorflow-gpu", "2.4.4", "11.0", "tf-2.4-cuda11.0", "envbuilder build tf-2.4-cuda11.0"),
        ("tensorflow", "2.4.1", "11.0", "tf-2.4-cuda11.0", "envbuilder build tf-2.4-cuda11.0 --tensorflow 2.4.1"),
        ("tensorflow-cpu", "2.4.4", None, "tf-2.4-cpu", "envbuilder build tf-2.4-cpu"),
        ("tensorflow", "1.2.1", None, "tf-1.4-cpu", "envbuilder build tf-1.4-cpu"),
        ("tensorflow", "9.9.0", "13.0", "tf-2.21-cuda12.5", "envbuilder build tf-2.21-cuda12.5"),
        (
            "tensorflow",
            "2.15.0+nv24.3",
            "12.4",
            "tf-2.15-cuda12.2",
            "envbuilder build tf-2.15-cuda12.2 --tensorflow 2.15.0",
        ),
    ],
)
def test_release_and_build_decide(package: str, version: str, cuda: str | None, environment: str, command: str) -> None:
    found = near(python(wheel(package, version), cuda=cuda))
    assert (found.environment, found.command) == (environment, command)


@pytest.mark.parametrize(
    ("version", "same"),
    [("2.4.4", True), ("2.4.1", True), ("2.3.9", False), ("2.15.0+nv24.3", False), ("1.2.1", False)],
)
def test_only_a_release_of_the_row_is_the_same(version: str, same: bool) -> None:
    assert near(python(wheel("tensorflow", version))).is_same_release is same


def test_it_says_in_what_it_differs() -> None:
    found = near(
        python(
            wheel("tensorflow-gpu", "2.4.4"),
            *packages(numpy="1.19.5", protobuf="4.21.12", h5py="2.10.0"),
            version="3.6.15",
            cuda="11.0",
            files=(cuda_file("libcudart.so.11.0", version="11.0.221"),),
        )
    )
    base = real_row("tf-2.4-cuda11.0").bases[0]
    differences = {each.what: (each.here, each.there) for each in found.differences}
    assert ("CUDA" in differences) is (str(base.cuda) != "11.0.3")
    differences.pop("CUDA", None)
    assert differences == {
        "Python": ("3.6", "3.8"),
        "cuDNN": ("", str(base.cudnn)),
        "protobuf": ("4.21.12", "3.20.3"),
    }

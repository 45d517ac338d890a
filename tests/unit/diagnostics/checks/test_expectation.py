from __future__ import annotations

from dataclasses import replace

import pytest

from envbuilder.catalog.environments import BaseKind, CudaProvider, Environment, PythonProvider
from envbuilder.core.memory_policy import ALL
from envbuilder.core.versions import Release
from envbuilder.diagnostics.checks.expectation import expect
from envbuilder.lock.container_settings import DEFAULT_USER
from envbuilder.lock.lock import BasePin, CudaPin, Lock, PackageGroup, PackagePin, PythonPin
from tests.fakes.catalogs import real_row
from tests.unit.diagnostics.checks.expectations import TF_2_20

assert TF_2_20.cuda
CUDA = TF_2_20.cuda
TABLES = CUDA.tables

ROW = replace(real_row("tf-2.20-cuda12.5"), cuda=CUDA.need)


def pin(name: str, version: str, group: PackageGroup) -> PackagePin:
    return PackagePin(name=name, version=version, file=f"{name}-{version}.whl", sha256="", group=group)


LOCK = Lock(
    environment=ROW.id,
    summary="",
    framework="TensorFlow",
    framework_version="2.20.0",
    base=BasePin(id="b", kind=BaseKind.IMAGE, image="", digest=""),
    python=PythonPin(version=Release("3.11"), provider=PythonProvider.OS),
    cuda=CudaPin(
        provider=CudaProvider.WHEELS,
        cuda=CUDA.release,
        cudnn=CUDA.cudnn_release,
        driver=CUDA.driver,
        sonames=CUDA.sonames,
        links=(),
    ),
    packages=(
        pin("tensorflow", "2.20.0", PackageGroup.FRAMEWORK),
        pin("keras", "3.15.1", PackageGroup.PACKAGES),
        pin("wrapt", "2.5.2", PackageGroup.PACKAGES),
        pin("protobuf", "7.36.2", PackageGroup.OWN),
        pin("setuptools", "59.0", PackageGroup.BUILD),
    ),
    os_packages=(),
    tools=(),
    env=(),
    user=DEFAULT_USER,
    memory=ALL,
    deviations=TF_2_20.deviations,
    refused=(),
    sources=(),
    inputs=(),
    epoch=0,
)


def test_row_and_lock_make_the_expectation_without_build_packages() -> None:
    assert expect(ROW, LOCK, TABLES) == TF_2_20


def test_a_cpu_row_expects_no_cuda() -> None:
    assert expect(replace(ROW, cuda=None), replace(LOCK, cuda=None), TABLES).cuda is None


@pytest.mark.parametrize(
    ("row", "lock"),
    [(replace(ROW, id="another"), LOCK), (replace(ROW, cuda=None), LOCK), (ROW, replace(LOCK, cuda=None))],
)
def test_a_lock_of_another_row_is_refused(row: Environment, lock: Lock) -> None:
    with pytest.raises(ValueError, match="lock"):
        expect(row, lock, TABLES)

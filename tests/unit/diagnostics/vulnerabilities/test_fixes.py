"""A fix outside the bounds of an environment is recognized, with the bound and its reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envbuilder.catalog.environments import BaseKind
from envbuilder.diagnostics.vulnerabilities.components import Component, inventory
from envbuilder.diagnostics.vulnerabilities.fixes import Fix, Fixable, NoFix, OutOfBounds, fix_of
from envbuilder.lock.lock import BasePin, Lock, PackageGroup
from tests.fakes.catalogs import real_catalog
from tests.unit.diagnostics.vulnerabilities.made import lock_of, os_pin, pin


def fix(lock: Lock, name: str, fixed: str) -> Fix:
    [component] = [each for each in inventory(lock) if each.name == name]
    return fix_of(component, fixed, lock, real_catalog())


def test_a_bound_of_the_environment_is_named_with_its_reason() -> None:
    found = fix(lock_of(pin("protobuf", "3.19.6")), "protobuf", "4.21.6")
    assert isinstance(found, OutOfBounds)
    assert found.reason.startswith("the environment requires protobuf<3.21: ")


def test_a_fix_within_the_bound_has_a_remedy_that_keeps_it() -> None:
    found = fix(lock_of(pin("protobuf", "3.19.1")), "protobuf", "3.19.5")
    assert isinstance(found, Fixable)
    assert '"protobuf>=3.19.5"' in found.remedy.text
    assert "2023-06-01" in found.remedy.text


def test_tensorflow_is_the_environment_unless_a_patch_release_has_the_fix() -> None:
    lock = replace(
        lock_of(pin("tensorflow-gpu", "2.4.0", PackageGroup.FRAMEWORK)),
        framework="tensorflow-gpu",
        framework_version="2.4.0",
    )
    patch = fix(lock, "tensorflow-gpu", "2.4.3")
    assert isinstance(patch, Fixable)
    assert patch.remedy.command == "envbuilder build tf-2.4-cuda11.0 --tensorflow 2.4.3"
    assert fix(lock, "tensorflow-gpu", "2.5.0") == OutOfBounds(
        reason="TensorFlow is the environment; the first environment with a fixed release is tf-2.5-cuda11.2"
    )
    assert fix(lock, "tensorflow-gpu", "99.0") == OutOfBounds(reason="TensorFlow is the environment")


def test_cuda_libraries_belong_to_the_environment() -> None:
    lock = lock_of(pin("nvidia-cudnn-cu11", "8.6.0.163", PackageGroup.CUDA))
    assert isinstance(fix(lock, "nvidia-cudnn-cu11", "8.9.0"), OutOfBounds)


def test_without_a_fixed_version_there_is_no_fix() -> None:
    assert fix(lock_of(pin("six", "1.0")), "six", "") == NoFix()


@pytest.mark.parametrize(("name", "command"), [("glibc", "envbuilder base bootstrap bookworm\nenvbuilder lock")])
def test_packages_of_the_base_need_a_new_base(name: str, command: str) -> None:
    found = fix(lock_of(), name, "2.36-9+deb12u4")
    assert isinstance(found, Fixable)
    assert found.remedy.command == command


def test_added_os_packages_need_a_new_lock() -> None:
    image = BasePin(id="nvidia", kind=BaseKind.IMAGE, image="nvidia/cuda:11.0.3-ubuntu20.04", digest="")
    lock = replace(lock_of(), base=image, os_packages=(os_pin("curl", "7.68.0-1"),))
    found = fix(lock, "curl", "7.68.0-2")
    assert isinstance(found, Fixable)
    assert found.remedy.command == "envbuilder lock"


def test_the_bounds_of_an_unknown_environment_are_not_known() -> None:
    lock = replace(lock_of(pin("protobuf", "3.19.6")), environment="tf-0.1-cpu")
    component = Component(ecosystem="PyPI", name=lock.framework, version="0.1")
    assert fix_of(component, "0.2", lock, real_catalog()) == OutOfBounds(reason="TensorFlow is the environment")
    assert isinstance(fix(lock, "protobuf", "4.21.6"), Fixable)

"""A lock is written as files of other tools, and their readers take it."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace

import pytest
import yaml
from packaging.pylock import Pylock
from packaging.specifiers import SpecifierSet

from envbuilder.core.references import ImageRef
from envbuilder.image.export.formats import ExportFormat, exported
from envbuilder.lock.container_settings import ContainerSettings
from envbuilder.lock.lock import Lock, PackageGroup
from tests.fakes.catalogs import good_lock, small_catalog

IMAGE = ImageRef.parse("registry.example/team/tf:1")


def written(form: ExportFormat, lock: Lock | None = None) -> str:
    return exported(lock or good_lock(), form, IMAGE, "packages", small_catalog().profiles)


def installed(lock: Lock) -> list[tuple[str, str, str]]:
    return [(pin.name, pin.version, pin.sha256) for pin in lock.packages if pin.group is not PackageGroup.BUILD]


def without_cuda() -> Lock:
    lock = good_lock()
    return replace(lock, cuda=None, packages=tuple(pin for pin in lock.packages if pin.group is not PackageGroup.CUDA))


def test_a_requirements_file_has_every_installed_package_with_its_hash() -> None:
    lines = [line for line in written(ExportFormat.REQUIREMENTS).splitlines() if not line.startswith("#")]
    assert lines == [f"{name}=={version} --hash=sha256:{sha256}" for name, version, sha256 in installed(good_lock())]


def test_tools_that_only_build_packages_are_left_out() -> None:
    built = replace(good_lock().packages[0], name="setuptools", group=PackageGroup.BUILD)
    lock = replace(good_lock(), packages=(*good_lock().packages, built))
    assert written(ExportFormat.REQUIREMENTS, lock) == written(ExportFormat.REQUIREMENTS)


def test_a_pylock_is_valid_and_names_each_file_below_the_directory() -> None:
    lock = good_lock()
    found = Pylock.from_dict(tomllib.loads(written(ExportFormat.PYLOCK)))
    found.validate()
    assert found.requires_python == SpecifierSet(f"=={lock.python.version.series}.*")
    files = [file for package in found.packages for file in (*(package.wheels or ()), package.sdist) if file]
    assert [(file.path, file.hashes["sha256"]) for file in files] == [
        (f"packages/{pin.file}", pin.sha256) for pin in lock.packages if pin.group is not PackageGroup.BUILD
    ]


def test_a_source_distribution_is_one_in_a_pylock() -> None:
    source = replace(good_lock().packages[-1], file="six-1.16.0.tar.gz", size=0)
    lock = replace(good_lock(), packages=(source,))
    [package] = Pylock.from_dict(tomllib.loads(written(ExportFormat.PYLOCK, lock))).packages
    assert package.sdist is not None
    assert (package.sdist.path, package.sdist.size, package.wheels) == ("packages/six-1.16.0.tar.gz", None, None)


def test_conda_gets_the_interpreter_and_pip_the_packages() -> None:
    document = yaml.safe_load(written(ExportFormat.CONDA))
    python, pip, packages = document["dependencies"]
    assert (python, pip) == (f"python={good_lock().python.version}", "pip")
    assert len(packages["pip"]) == len(installed(good_lock()))


@pytest.mark.parametrize("form", [ExportFormat.REQUIREMENTS, ExportFormat.CONDA, ExportFormat.PYLOCK])
def test_what_a_file_of_packages_cannot_hold_is_said_in_it(form: ExportFormat) -> None:
    lock = good_lock()
    assert lock.os_packages
    assert f"OS packages {lock.os_packages[0].name}" in written(form)
    archived = replace(lock, packages=tuple(pin for pin in lock.packages if pin.group is not PackageGroup.CUDA))
    assert "# Not in this file: CUDA 11" in written(form, archived)
    assert "# Not in this file: CUDA" not in written(form)
    assert "CUDA" not in written(form, replace(without_cuda(), summary=""))


def test_compose_gets_gpus_for_an_environment_that_uses_them() -> None:
    document = yaml.safe_load(written(ExportFormat.COMPOSE))
    service = document["services"]["tensorflow"]
    assert service["image"] == str(IMAGE)
    assert service["deploy"]["resources"]["reservations"]["devices"][0]["capabilities"] == ["gpu"]
    assert "deploy" not in written(ExportFormat.COMPOSE, without_cuda())


def test_ports_of_the_image_are_those_of_its_containers() -> None:
    lock = replace(good_lock(), settings=ContainerSettings(ports=("6006/udp", "8888/tcp")))
    service = yaml.safe_load(written(ExportFormat.COMPOSE, lock))["services"]["tensorflow"]
    assert service["ports"] == ["6006:6006/udp", "8888:8888"]
    assert json.loads(written(ExportFormat.DEVCONTAINER, lock))["forwardPorts"] == [8888]
    assert "forwardPorts" not in written(ExportFormat.DEVCONTAINER)


def test_the_project_is_mounted_at_the_working_directory_of_the_image() -> None:
    elsewhere = replace(good_lock(), settings=ContainerSettings(workdir="/srv/model"))
    for lock, folder in ((good_lock(), "/workspace"), (elsewhere, "/srv/model")):
        service = yaml.safe_load(written(ExportFormat.COMPOSE, lock))["services"]["tensorflow"]
        assert service["volumes"] == [f".:{folder}"]
        document = json.loads(written(ExportFormat.DEVCONTAINER, lock))
        assert document["workspaceFolder"] == folder
        assert document["workspaceMount"] == f"source=${{localWorkspaceFolder}},target={folder},type=bind"


def test_a_development_container_asks_for_a_gpu_only_where_the_environment_uses_one() -> None:
    document = json.loads(written(ExportFormat.DEVCONTAINER))
    assert (document["image"], document["remoteUser"]) == (str(IMAGE), good_lock().user.name)
    assert document["hostRequirements"] == {"gpu": True}
    assert "hostRequirements" not in json.loads(written(ExportFormat.DEVCONTAINER, without_cuda()))


def test_a_development_container_has_the_ports_and_extensions_of_the_profiles_of_its_lock() -> None:
    plain = json.loads(written(ExportFormat.DEVCONTAINER))
    assert "forwardPorts" not in plain
    assert "extensions" not in plain["customizations"]["vscode"]
    found = json.loads(written(ExportFormat.DEVCONTAINER, replace(good_lock(), profiles=("jupyter", "tensorboard"))))
    assert found["forwardPorts"] == [6006, 8888]
    assert found["portsAttributes"] == {"6006": {"label": "tensorboard"}, "8888": {"label": "jupyter"}}
    assert found["customizations"]["vscode"]["extensions"] == ["ms-toolsai.jupyter"]

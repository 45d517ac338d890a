"""What `list` and `show` say about building from here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envbuilder.catalog.buildable import Buildability
from envbuilder.catalog.environments import BaseKind
from envbuilder.image.base.file_store import FileStore
from envbuilder.image.base.locate import keep_archive
from envbuilder.image.base.tree_store import DebTree, TreeStore
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.wiring.inventory import inventory
from envbuilder.wiring.settings import settings
from tests.fakes.catalogs import real_catalog
from tests.unit.cli.running import CommandLine
from tests.unit.image.base.test_locate import archive

EULA = "https://docs.nvidia.com/cuda/eula/index.html"
NO_ENGINE = "unix:///nonexistent/docker.sock"


@pytest.fixture(autouse=True)
def _no_engine(envbuilder: CommandLine) -> None:
    envbuilder.set("DOCKER_HOST", NO_ENGINE)


def verdicts(envbuilder: CommandLine) -> dict[str, str]:
    listed = json.loads(envbuilder("list", "--json").stdout)["environments"]
    return {each["id"]: each["buildable"]["verdict"] for each in listed}


def test_list_marks_what_cannot_be_built(envbuilder: CommandLine) -> None:
    said = envbuilder("list", "tf-1.7-*").stdout
    assert "Cannot be built from here" in said
    listed = json.loads(envbuilder("list", "tf-1.7-cuda9.0", "--json").stdout)["environments"][0]
    assert "cuda-9.0.176-runfile and cudnn-7.0.5.15-cuda9.0 must be downloaded" in listed["buildable"]["reasons"][1]
    assert verdicts(envbuilder)["tf-1.7-cuda9.0"] == "no"


def test_an_archive_in_a_directory_of_its_publisher_and_an_accepted_license_are_in_the_inventory(
    envbuilder: CommandLine, tmp_path: Path
) -> None:
    assert inventory(settings(), real_catalog()).unaccepted == {each.id for each in real_catalog().archives.publishers}
    name = next(each.file for each in real_catalog().archives.archives if each.id == "cuda-9.0.176-runfile")
    (tmp_path / name).write_bytes(b"")
    envbuilder.set("ENVBUILDER_PUBLISHERS", f"nvidia-developer={tmp_path}")
    envbuilder.set("ENVBUILDER_ACCEPT_NVIDIA_EULA", "1")
    found = inventory(settings(), real_catalog())
    assert found.archives == {"cuda-9.0.176-runfile"}
    assert not found.unaccepted


def test_an_archive_in_the_cache_makes_old_environments_buildable(envbuilder: CommandLine) -> None:
    assert verdicts(envbuilder)["tf-2.3-cpu"] == "unknown"
    files = FileStore(folder=envbuilder.folder / "cache" / "files")
    keep_archive(files, archive(envbuilder.folder, "3.8.18"))
    assert verdicts(envbuilder)["tf-2.3-cpu"] == "yes"


def test_show_says_it_for_each_base(envbuilder: CommandLine) -> None:
    said = " ".join(envbuilder("show", "tf-2.10-cuda11.2").stdout.split())
    assert "cannot be built from here: base image nvidia/cuda:11.2.2" in said
    assert "requires a container engine" in said
    shown = json.loads(envbuilder("show", "tf-2.3-cuda10.1", "--json").stdout)
    verdicts_of_bases = {base["id"]: base["buildable"]["verdict"] for base in shown["bases"]}
    assert verdicts_of_bases == {"debian-bookworm": "unknown", "ubuntu-bionic": "no", "nvidia-cuda-10.1-cudnn7": "no"}
    assert shown["buildable"]["base"] == "debian-bookworm"
    assert [archive["license"] for archive in shown["bases"][0]["archives"]] == [EULA, EULA]


def test_trees_of_the_cache_are_in_the_inventory(envbuilder: CommandLine, tmp_path: Path) -> None:
    found = inventory(settings(), real_catalog())
    assert not found.bases
    tar = tmp_path / "tree.tar"
    tar.write_bytes(b"tree")
    tree = DebTree(
        id="debian-bookworm",
        path=tar,
        digest=f"sha256:{'1' * 64}",
        size=4,
        suite="bookworm",
        packages=(),
        cleared=(),
    )
    TreeStore(envbuilder.folder / "cache" / "bases").put(tree)
    assert inventory(settings(), real_catalog()).bases == {"debian-bookworm"}


def test_sources_that_were_named_are_in_the_inventory(envbuilder: CommandLine) -> None:
    named = Sources(registry_mirror="mirror.example", debian_mirrors=("http://debian.example/debian",))
    found = inventory(settings(), real_catalog(), named)
    assert (found.registry_mirror, BaseKind.DEBIAN in found.distributions) == ("mirror.example", True)
    assert found.standalone is Buildability.UNKNOWN
    envbuilder.set("UV_PYTHON_INSTALL_MIRROR", "https://pythons.example")
    assert inventory(settings(), real_catalog()).standalone is Buildability.YES

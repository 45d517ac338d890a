"""Jobs on a cluster: images that they accept, and files that are not overwritten."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import yaml

from envbuilder.catalog.node_requirements import document
from envbuilder.cluster.jobs import (
    FileImage,
    ImageFormat,
    RegistryImage,
    check_files,
    job_image,
    node_check_source,
    write_job_files,
)
from envbuilder.core.errors import UsageError
from envbuilder.diagnostics.probe.script import worker_source
from envbuilder.image.dockerfile.build_context import TextFile
from tests.golden.clusters import REGISTRY as IMAGE
from tests.golden.clusters import folders, job

DIGEST = "sha256:" + "c" * 64


def test_an_image_of_a_registry_is_used_by_its_digest_alone() -> None:
    found = job_image(f"registry.example/team/tf:1@{DIGEST}")

    assert isinstance(found, RegistryImage)
    assert (str(found.reference), found.identity) == (f"registry.example/team/tf@{DIGEST}", "c" * 64)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("registry.example/team/tf:1", "has no digest"),
        (f"team/tf@{DIGEST}", "names no registry"),
        ("Not An Image", "is not an image reference"),
        ("missing.sqsh", "file not found"),
    ],
)
def test_an_image_that_nodes_could_resolve_differently_is_refused(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        job_image(text)
    assert caught.value.hint


@pytest.mark.parametrize(("name", "kind"), [("a.sqsh", "sqsh"), ("a.squashfs", "sqsh"), ("a.sif", "sif")])
def test_a_file_is_known_by_its_sha256(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / name).write_bytes(b"image")

    assert job_image(str(tmp_path / name)) == FileImage(
        path=tmp_path / name, sha256=hashlib.sha256(b"image").hexdigest(), format=ImageFormat(kind)
    )


def test_files_are_not_overwritten_without_being_told(tmp_path: Path) -> None:
    files = (TextFile(path="a", text="new"), TextFile(path="b", text="new", executable=True))
    (tmp_path / "a").write_text("mine", encoding="utf-8")

    with pytest.raises(UsageError, match="a exists already"):
        write_job_files(files, tmp_path, force=False)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]

    assert write_job_files(files, tmp_path, force=True) == (tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a").read_text(encoding="utf-8") == "new"
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o755


def test_a_config_map_holds_the_checks_and_their_requirements() -> None:
    manifest = next(file for file in folders()["clusters/kubernetes"] if file.path == "node-check.yaml")
    several = job("tf-2.15-cuda12.2", IMAGE, 4, 2)

    data = yaml.safe_load(manifest.text)["data"]

    assert data["node-check.py"] == node_check_source()
    assert data["worker-check.py"] == worker_source().decode()
    assert json.loads(data["requirements.json"]) == document(several.requirements)
    assert {file.path for file in check_files(several)} == set(data)
    # `kubectl apply` keeps a copy in an annotation, and these have at most 256 KiB.
    assert len(manifest.text) < 1 << 18


def test_one_worker_needs_no_check_of_several() -> None:
    assert {file.path for file in check_files(job("tf-2.15-cpu", IMAGE, 0))} == {"node-check.py", "requirements.json"}

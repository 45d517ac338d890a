"""What else holds for images without a daemon: reproduced, read by others, on an image of a registry."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envbuilder.catalog.environments import BaseKind
from envbuilder.lock.lock import BasePin
from envbuilder.lock.lockfile import dump, load
from tests.e2e.conftest import MARKER, Ended, Tool

ROW = "tf-2.15-cpu"
NAME = f"envbuilder/{ROW}:latest"
NOBODY_ANSWERS = "unix:///nonexistent/docker.sock"
_SITE = "opt/venv/lib/python3.11/site-packages"


def need(program: str) -> str:
    found = shutil.which(program)
    assert found, f"{program} is missing: .ci/test-tools installs it"
    return found


def run(*command: str | Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def ended_well(done: Ended) -> Ended:
    assert done.status == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def assembled(tool: Tool) -> dict[str, Any]:
    """The row, assembled on a machine whose Docker does not answer."""
    done = ended_well(tool("build", ROW, "--json", DOCKER_HOST=NOBODY_ANSWERS))
    assert "assembling the image without one" in done.stderr
    [image] = done.document()["images"]
    assert isinstance(image, dict)
    return image


@pytest.fixture(scope="module")
def layout(tool: Tool, assembled: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("layout") / "image"
    ended_well(tool("build", ROW, "--engine", "assemble", "-o", folder))
    return folder


@pytest.fixture(scope="module")
def unpacked(layout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root file system as umoci unpacks it."""
    bundle = tmp_path_factory.mktemp("umoci") / "bundle"
    run(need("umoci"), "unpack", "--rootless", "--image", f"{layout}:{NAME}", bundle)
    return bundle / "rootfs"


def test_it_passes_its_validation_without_an_engine(tool: Tool, assembled: dict[str, Any]) -> None:
    report = ended_well(tool("validate", ROW, "--require", "cpu", "--json", DOCKER_HOST=NOBODY_ANSWERS)).document()
    assert report["passed"]


def test_a_program_runs_in_it_with_a_memory_policy(tool: Tool, assembled: dict[str, Any]) -> None:
    code = "import os, sys, tensorflow; print(os.environ['ENVBUILDER_MEMORY']); sys.exit(3)"
    done = tool("run", "--engine", "assemble", "--memory", "growth", ROW, "python", "-c", code)
    assert (done.status, done.stdout) == (3, "growth\n"), done.stderr
    refused = tool("run", "--engine", "assemble", "--gpus", ROW, "true")
    assert refused.status == 2
    assert "no GPUs for a command without a container engine" in refused.stderr


def test_two_workers_in_networks_of_their_own_train_as_one(
    tool: Tool, assembled: dict[str, Any], tmp_path: Path
) -> None:
    done = tool("multi-node", "run", ROW, "--require", "--facts", tmp_path, "--json", DOCKER_HOST=NOBODY_ANSWERS)
    report = ended_well(done).document()
    assert {each["outcome"] for each in report["results"]} == {"passed"}
    assert ended_well(tool("multi-node", "check", tmp_path, "--json")).document()["results"] == report["results"]


def test_the_lock_knows_the_digest_before_anything_is_built(tool: Tool, assembled: dict[str, Any]) -> None:
    assert ended_well(tool("plan", ROW, "--json")).document()["manifest"] == assembled["manifest"]


def test_other_surroundings_and_no_network_give_the_same_digest(tool: Tool, assembled: dict[str, Any]) -> None:
    document = ended_well(tool("reproduce", ROW, "--json")).document()
    assert {attempt["manifest"] for attempt in document["attempts"]} == {assembled["manifest"]}


def test_skopeo_and_umoci_read_it(layout: Path, unpacked: Path, assembled: dict[str, Any]) -> None:
    seen = json.loads(run(need("skopeo"), "inspect", f"oci:{layout}:{NAME}"))
    assert seen["Digest"] == assembled["manifest"]
    assert (unpacked / _SITE / "tensorflow" / "__init__.py").is_file()


def test_an_image_of_a_registry_is_a_base_without_an_engine(
    tool: Tool, assembled: dict[str, Any], loopback_registry: str, tmp_path: Path
) -> None:
    pushed = ended_well(tool("base", "bootstrap", "bookworm", "--push", loopback_registry, "--json")).document()[
        "pushed"
    ]
    digest = json.loads(run(need("skopeo"), "inspect", "--tls-verify=false", f"docker://{pushed}"))["Digest"]
    kept = tool.cache / "locks" / ROW / "envbuilder.lock"
    lock = load(kept.read_text(encoding="utf-8"), "envbuilder.lock")
    base = BasePin(id=lock.base.id, kind=BaseKind.IMAGE, image=pushed, digest=digest)
    (tmp_path / "envbuilder.lock").write_text(dump(replace(lock, base=base, image=None)), encoding="utf-8")
    cache = tmp_path / "cache"
    run("cp", "-al", tool.cache, cache)
    alone = replace(tool, environ={**tool.environ, "DOCKER_HOST": NOBODY_ANSWERS, "ENVBUILDER_CACHE": str(cache)})
    done = alone("build", tmp_path, "--engine", "assemble", "-t", "envbuilder-test/on-image:1", "--json")
    [image] = ended_well(done).document()["images"]
    assert image["layers"][0]["id"] == "base.0"
    assert image["layers"][0]["diff_id"] == assembled["layers"][0]["diff_id"]
    ended_well(alone("validate", "envbuilder-test/on-image:1", "--require", "cpu"))


def test_a_changed_file_in_a_layout_is_named(
    tool: Tool, layout: Path, assembled: dict[str, Any], tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(layout, copy)
    largest = max((copy / "blobs" / "sha256").iterdir(), key=lambda path: path.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[len(content) // 2] ^= 1
    largest.chmod(0o644)
    largest.write_bytes(bytes(content))
    done = tool("verify", copy, "--name", NAME, "--lock", ROW)
    assert done.status != 0
    assert largest.name in done.stderr + done.stdout


def test_no_setting_of_this_host_is_in_the_image(unpacked: Path) -> None:
    found = subprocess.run(["grep", "-rl", MARKER, unpacked.parent], capture_output=True, text=True, check=False)
    assert found.returncode == 1, found.stdout

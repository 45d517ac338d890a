"""Images without a daemon, with real TensorFlow: the same digest everywhere, read and run by other programs."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import tarfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envbuilder.assembling.records import Records
from envbuilder.locking.lockfile import dump, load
from envbuilder.model.locks import BasePin
from envbuilder.model.rows import BaseKind
from envbuilder.rendering.folder import requirements
from envbuilder.store import Store
from tests.e2e.conftest import MARKER, Ended, Tool

ROW = "tf-2.15-cpu"
NAME = f"envbuilder/{ROW}:latest"
NOBODY_ANSWERS = "unix:///nonexistent/docker.sock"
_SITE = "opt/venv/lib/python3.11/site-packages"
_NOT_OF_UV = {"INSTALLER", "REQUESTED"}


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
def team(tool: Tool, assembled: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a spec that adds one package, and its lock."""
    folder = tmp_path_factory.mktemp("team")
    spec = f'schema: 1\nenvironment: "{ROW}"\npackages:\n  - "humanize==4.9.0"\n'
    (folder / "envbuilder.yaml").write_text(spec, encoding="utf-8")
    ended_well(tool("lock", folder=folder))
    return folder


def test_it_passes_its_validation_without_an_engine(tool: Tool, assembled: dict[str, Any]) -> None:
    report = ended_well(tool("validate", ROW, "--require", "cpu", "--json", DOCKER_HOST=NOBODY_ANSWERS)).document()
    assert report["passed"]


def test_the_lock_knows_the_digest_before_anything_is_built(tool: Tool, assembled: dict[str, Any]) -> None:
    assert ended_well(tool("plan", ROW, "--json")).document()["manifest"] == assembled["manifest"]


def test_other_surroundings_and_no_network_give_the_same_digest(tool: Tool, assembled: dict[str, Any]) -> None:
    document = ended_well(tool("reproduce", ROW, "--json")).document()
    assert {attempt["manifest"] for attempt in document["attempts"]} == {assembled["manifest"]}


def test_a_bundle_gives_the_same_digest_without_any_network(
    tool: Tool, assembled: dict[str, Any], tmp_path: Path
) -> None:
    bundle = tmp_path / "tf.bundle"
    ended_well(tool("bundle", ROW, "-o", bundle))
    environ = {**tool.environ, "ENVBUILDER_CACHE": str(tmp_path / "cache"), "DOCKER_HOST": NOBODY_ANSWERS}
    command = ["unshare", "--map-root-user", "--net", tool.program, "build", "--bundle", str(bundle), "--offline"]
    built = json.loads(run(*command, "--json", env=environ))
    assert built["images"][0]["manifest"] == assembled["manifest"]
    assert built["downloaded_bytes"] == 0


def test_all_formats_have_the_same_layers_inside(tool: Tool, assembled: dict[str, Any]) -> None:
    other = ended_well(tool("build", ROW, "--engine", "assemble", "--layer-format", "tar", "--json")).document()
    assert other["images"][0]["config"] == assembled["config"]
    assert other["images"][0]["manifest"] != assembled["manifest"]


def test_skopeo_and_umoci_read_it(layout: Path, assembled: dict[str, Any], tmp_path: Path) -> None:
    seen = json.loads(run(need("skopeo"), "inspect", f"oci:{layout}:{NAME}"))
    assert seen["Digest"] == assembled["manifest"]
    run(need("umoci"), "unpack", "--rootless", "--image", f"{layout}:{NAME}", tmp_path / "bundle")
    assert (tmp_path / "bundle" / "rootfs" / _SITE / "tensorflow" / "__init__.py").is_file()


def test_it_holds_what_uv_installs_file_by_file_but_for_named_differences(
    tool: Tool, layout: Path, assembled: dict[str, Any], tmp_path: Path
) -> None:
    run(need("umoci"), "unpack", "--rootless", "--image", f"{layout}:{NAME}", tmp_path / "bundle")
    ours = tree(tmp_path / "bundle" / "rootfs" / "opt" / "venv", "/opt/venv")
    ended_well(tool("bundle", ROW, "-o", tmp_path / "b"))
    lock = lock_in(tmp_path / "b")
    uv = Path(tool.program).parent / "uv"
    venv = tmp_path / "venv"
    environ = {
        **os.environ,
        "UV_NO_INSTALLER_METADATA": "1",
        "UV_LINK_MODE": "copy",
        "UV_CACHE_DIR": str(tmp_path / "c"),
    }
    run(uv, "venv", "--quiet", "--no-project", "--python", "3.11", venv, env=environ)
    (tmp_path / "r.txt").write_text(lock, encoding="utf-8")
    run(
        uv, "pip", "install", "--quiet", "--python", venv, "--no-deps", "--require-hashes",
        "--requirements", tmp_path / "r.txt", env=environ,
    )  # fmt: skip
    theirs = tree(venv, str(venv))
    assert {path for path in theirs.keys() - ours.keys() if "__pycache__" not in path} == {
        path for path in theirs.keys() - ours.keys() if Path(path).name in _OF_UV_VENV
    }
    extra = {path for path in ours.keys() - theirs.keys() if "__pycache__" not in path}
    assert all(Path(path).name in _NOT_OF_UV for path in extra)
    differ = {path for path in ours.keys() & theirs.keys() if ours[path] != theirs[path]}
    assert {path for path in differ if Path(path).name not in {"RECORD", "pyvenv.cfg", "activate", "python"}} == set()
    for path in differ:
        if Path(path).name == "RECORD":
            changed = set(ours[path][1].splitlines()) ^ set(theirs[path][1].splitlines())
            assert all(b"INSTALLER" in line or b"REQUESTED" in line or b"__pycache__" in line for line in changed)


_OF_UV_VENV = {
    ".gitignore", ".lock", "CACHEDIR.TAG", "activate.bat", "activate.csh", "activate.fish", "activate.nu",
    "activate.ps1", "activate.xsh", "activate_this.py", "deactivate.bat", "pydoc.bat", "_virtualenv.py",
    "_virtualenv.pth",
}  # fmt: skip


def tree(root: Path, name: str) -> dict[str, tuple[int, bytes]]:
    """Mode and content of every file; the environment's own path stands as `VENV`."""
    found = {}
    for path in root.rglob("*"):
        if path.is_symlink():
            found[str(path.relative_to(root))] = (0, os.fsencode(path.readlink()))
        elif path.is_file():
            content = path.read_bytes()
            head = content.replace(f"#!{name}/".encode(), b"#!VENV/", 1) if content.startswith(b"#!") else content
            found[str(path.relative_to(root))] = (path.stat().st_mode & 0o777, head)
    # The digest of a script that names the environment is another one too.
    return {
        path: (mode, b"\n".join(line for line in content.splitlines() if not line.startswith(b"../../../bin/")))
        if path.endswith("/RECORD")
        else (mode, content)
        for path, (mode, content) in found.items()
    }


def lock_in(bundle: Path) -> str:
    """The pins of a bundle's lock as a requirements file."""
    with tarfile.open(bundle) as archive:
        stream = archive.extractfile("envbuilder.lock")
        assert stream is not None
        lock = load(stream.read().decode(), "envbuilder.lock")
    return requirements(pin for pin in lock.packages if pin.group.value != "build")


def test_docker_runs_it_and_an_added_package_is_all_that_is_sent(
    tool: Tool, assembled: dict[str, Any], team: Path
) -> None:
    first = ended_well(tool("build", ROW, "--engine", "assemble", "--load", "-t", "envbuilder-test/asm:1", "--json"))
    assert first.document()["images"][0]["loaded"]["layers"] + first.document()["images"][0]["loaded"][
        "present"
    ] == len(assembled["layers"])
    code = "import tensorflow as tf; print(tf.reduce_sum(tf.ones((3, 3))).numpy())"
    assert run("docker", "run", "--rm", "envbuilder-test/asm:1", "python", "-c", code).strip().endswith("9.0")
    done = tool("build", "--engine", "assemble", "--load", "-t", "envbuilder-test/asm:2", "--json", folder=team)
    loaded = ended_well(done).document()["images"][0]["loaded"]
    assert loaded["layers"] <= 3
    assert loaded["bytes"] < 3_000_000
    ended_well(tool("validate", "envbuilder-test/asm:2", "--engine", "docker", "--require", "cpu"))
    ended_well(tool("verify", "envbuilder-test/asm:2", "--engine", "docker", folder=team))


def test_a_registry_gets_each_layer_once_and_verify_finds_what_was_changed(
    tool: Tool, assembled: dict[str, Any], team: Path, loopback_registry: str
) -> None:
    one, two = f"{loopback_registry}/a/tf:1", f"{loopback_registry}/b/tf:1"
    first = ended_well(tool("build", ROW, "--engine", "assemble", "-t", one, "--push", "--json")).document()
    assert first["images"][0]["pushed"][0]["digest"] == assembled["manifest"]
    second = ended_well(tool("build", ROW, "--engine", "assemble", "-t", two, "--push", "--json")).document()
    assert second["images"][0]["pushed"][0]["bytes"] == 0
    ended_well(tool("verify", one, "--lock", ROW))
    other = tool("verify", one, "--lock", team / "envbuilder.lock", "--json")
    assert other.status == 1
    differences = {each["layer"]: each for each in other.document()["differences"]}
    assert "own" in differences
    seen = run(need("skopeo"), "inspect", "--tls-verify=false", f"docker://{one}")
    assert json.loads(seen)["Digest"] == assembled["manifest"]


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


def test_a_squashfs_lists_its_files(tool: Tool, assembled: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "tf.sqsh"
    ended_well(tool("build", ROW, "--engine", "assemble", "-o", path))
    assert f"squashfs-root/{_SITE}/tensorflow/__init__.py" in run(need("unsquashfs"), "-l", path).splitlines()
    assert assembled["manifest"] in run("unsquashfs", "-cat", path, "etc/envbuilder-image")


def test_no_setting_of_this_host_is_in_the_image(layout: Path, tmp_path: Path) -> None:
    run(need("umoci"), "unpack", "--rootless", "--image", f"{layout}:{NAME}", tmp_path / "bundle")
    found = subprocess.run(["grep", "-rl", MARKER, tmp_path / "bundle"], capture_output=True, text=True, check=False)
    assert found.returncode == 1, found.stdout


def test_killed_at_random_moments_nothing_wrong_is_kept(tool: Tool, team: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    run("cp", "-al", tool.cache, cache)
    environ = {**tool.environ, "ENVBUILDER_CACHE": str(cache)}
    store = Store(folder=cache / "store")
    names = {kept.name for kept in Records(store=store).images()}
    chance = random.Random(20)  # noqa: S311  moments, not secrets
    for number in range(20):
        shutil.rmtree(cache / "store" / "layers")
        command = [tool.program, "build", "--engine", "assemble", "-t", f"envbuilder-test/killed:{number}"]
        with subprocess.Popen(
            command, cwd=team, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            time.sleep(chance.uniform(0.3, 6))
            process.send_signal(signal.SIGKILL)
        kept = {each.name: each for each in Records(store=Store(folder=cache / "store")).images()}
        for name in kept.keys() - names:
            for blob in kept[name].image.blobs:
                Store(folder=cache / "store").verified(blob.digest)
    for digest, _, _ in store.entries():
        Store(folder=cache / "store").verified(digest)
    done = ended_well(tool("build", "--engine", "assemble", "--json", folder=team, ENVBUILDER_CACHE=str(cache)))
    expected = ended_well(tool("plan", "--json", folder=team)).document()["manifest"]
    assert done.document()["images"][0]["manifest"] == expected


def test_two_builds_at_once_on_one_store_agree(tool: Tool, team: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    run("cp", "-al", tool.cache, cache)
    shutil.rmtree(cache / "store" / "layers")
    environ = {**tool.environ, "ENVBUILDER_CACHE": str(cache)}
    command = [tool.program, "build", "--engine", "assemble", "--json"]
    both = [
        subprocess.Popen(command, cwd=team, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(2)
    ]
    answers = [json.loads(process.communicate()[0])["images"][0]["manifest"] for process in both]
    assert len(set(answers)) == 1
    assert [process.returncode for process in both] == [0, 0]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for some of an image."""
    image, place = tmp_path / "disk", tmp_path / "mounted"
    place.mkdir()
    run("truncate", "--size", "400M", image)
    run(need("mkfs.ext4"), "-q", "-F", image)
    run("mount", "-o", "loop", image, place)
    yield place
    run("umount", "--lazy", place)


def test_a_full_disk_is_said_and_nothing_is_kept_under_a_name(tool: Tool, team: Path, small_disk: Path) -> None:
    cache = small_disk / "cache"
    done = tool("build", team / "envbuilder.lock", "--engine", "assemble", ENVBUILDER_CACHE=str(cache))
    assert done.status == 6, done.stderr
    assert "no room left" in done.stderr
    assert not list(Records(store=Store(folder=cache / "store")).images())
    for digest, _, _ in Store(folder=cache / "store").entries():
        Store(folder=cache / "store").verified(digest)

"""Images made without a daemon, on real input: the same bytes everywhere, and readable by the programs of others."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pytest

from envbuilder.image.container_engine import ContainerEngine
from envbuilder.lock.lock import PackageGroup
from envbuilder.lock.lockfile import load
from envbuilder.oci.runtime.command import RunRequest
from envbuilder.oci.store import Store
from tests.e2e.conftest import Ended, Tool
from tests.e2e.environments import interpreter

ROW = "tf-2.15-cpu"
SOURCES_ROW = "tf-2.4-cpu"
"""Has distributions that come as source only."""

NO_ENGINE = "unix:///nonexistent/docker.sock"
TAG = "envbuilder-test/assembled:1"
ROOT = Path(__file__).parents[2]
PROGRAMS = ("docker-registry", "skopeo", "umoci", "runc", "mksquashfs", "unsquashfs", "unshare")


@dataclass(frozen=True, kw_only=True)
class Assembled:
    """The image that most tests look at.

    Attributes:
        lock: Its lock.
        layout: OCI layout that the build wrote.
        made: What the build said of it.
    """

    lock: Path
    layout: Path
    made: Any

    @property
    def manifest(self) -> str:
        """Digest of its manifest."""
        return str(self.made["manifest"])


@pytest.fixture(scope="module", autouse=True)
def _programs() -> None:
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    assert not missing, f"these tests need {', '.join(missing)}: run .ci/test-tools"


@pytest.fixture(scope="module")
def assembled(tool: Tool, tmp_path_factory: pytest.TempPathFactory) -> Assembled:
    """The small row with a lock of its own; no engine answers while it is made."""
    folder = tmp_path_factory.mktemp("assembled")
    lock = _lock(tool, folder)
    done = tool("build", lock, "-t", TAG, "-o", folder / "layout", "--json", DOCKER_HOST=NO_ENGINE)
    return Assembled(lock=lock, layout=folder / "layout", made=_image(done))


@pytest.fixture(scope="module")
def bundle(tool: Tool, assembled: Assembled) -> Iterator[Path]:
    """Everything that its lock needs in one file."""
    file = assembled.lock.parent / "image.bundle"
    done = tool("bundle", assembled.lock, "-o", file)
    assert done.status == 0, done.stderr
    yield file
    file.unlink()


def test_where_no_engine_answers_the_image_is_assembled_and_passes_its_validation(
    tool: Tool, assembled: Assembled
) -> None:
    again = tool("build", assembled.lock, "-t", TAG, "--json", DOCKER_HOST=NO_ENGINE)
    assert again.document()["engine"] == "assemble"
    assert not [layer["id"] for layer in _image(again)["layers"] if layer["made"]]

    done = tool(
        "validate", TAG, "--engine", "assemble", "--tier", "cpu", "--require", "cpu", "--json", DOCKER_HOST=NO_ENGINE
    )

    assert done.status == 0, done.stdout + done.stderr
    outcomes = {each["id"]: each["outcome"] for each in done.document()["results"]}
    for check in ("distributions-present", "tensorflow-imports", "training-loss-falls", "save-load-equal"):
        assert outcomes[check] == "passed"


def test_without_network_a_bundle_gives_the_same_image_to_another_account_in_another_place_and_time_zone(
    tool: Tool, assembled: Assembled, bundle: Path, tmp_path: Path
) -> None:
    """Varied: network (none), account (1000 in a user namespace), umask, TZ, LC_ALL, hash seed, folder, cache, jobs."""
    home = tmp_path / "another home"
    home.mkdir()
    build = [
        tool.program,
        "build",
        "--engine",
        "assemble",
        "--bundle",
        str(bundle),
        "--offline",
        "--jobs",
        "1",
        "--json",
    ]
    done = _run(
        # The account in a namespace of its own, inside the one without network.
        *("unshare", "--net", "unshare", "--user", "--map-user=1000", "--map-group=1000"),
        *("sh", "-c", 'umask 077; exec "$@"', "sh", *build),
        folder=home,
        environ={
            **tool.environ,
            "ENVBUILDER_CACHE": str(home / "cache"),
            "HOME": str(home),
            "TZ": "Asia/Kathmandu",
            "LC_ALL": "C",
            "PYTHONHASHSEED": "12345",
        },
    )

    image = _image(done)
    assert image["manifest"] == assembled.manifest
    assert all(layer["made"] for layer in image["layers"])
    _remove(home / "cache")


def test_another_python_makes_the_same_image(tool: Tool, assembled: Assembled, bundle: Path, tmp_path: Path) -> None:
    """Varied: the Python that runs envbuilder, with its zlib."""
    uv = str(Path(sys.executable).parent / "uv")
    _run(uv, "venv", "--quiet", "--python", interpreter("3.13"), str(tmp_path / "venv"))
    python = tmp_path / "venv" / "bin" / "python"
    _run(uv, "pip", "install", "--quiet", "--python", str(python), "-e", str(ROOT))

    done = _run(
        *(str(tmp_path / "venv" / "bin" / "envbuilder"), "build", "--engine", "assemble"),
        *("--bundle", str(bundle), "--offline", "--json"),
        folder=tmp_path,
        environ={**tool.environ, "ENVBUILDER_CACHE": str(tmp_path / "cache")},
    )

    image = _image(done)
    assert image["manifest"] == assembled.manifest
    assert all(layer["made"] for layer in image["layers"])
    _remove(tmp_path / "cache")


@pytest.mark.xdist_group("engine")
def test_the_engine_runs_it_and_is_sent_only_the_layers_that_an_own_package_changes(
    tool: Tool, assembled: Assembled, engine: ContainerEngine, tmp_path: Path
) -> None:
    build = ("--engine", "assemble", "--load", "--json")
    first = _image(tool("build", assembled.lock, "-t", TAG, *build))
    assert first["loaded"]
    ran = engine.run(
        RunRequest(image=TAG, command=("python", "-c", "import tensorflow; print(tensorflow.__version__)"))
    )
    assert ran.status == 0, ran.stderr
    assert ran.stdout.decode().strip() == "2.15.1"

    before = _layers_of_all_images()
    second = _image(tool("build", _lock(tool, tmp_path, "emoji"), "-t", f"{TAG}-own", *build))

    known = {layer["diff_id"] for layer in first["layers"]}
    assert 0 < len([layer for layer in second["layers"] if layer["diff_id"] not in known]) <= 3
    # The digests are the same on every day, so the engine may have kept them from an earlier one.
    new = [layer for layer in second["layers"] if layer["diff_id"] not in before]
    assert second["loaded"]["layers"] == len(new)
    assert second["loaded"]["present"] == len(second["layers"]) - len(new)
    ran = engine.run(RunRequest(image=f"{TAG}-own", command=("python", "-c", "import emoji, tensorflow")))
    assert ran.status == 0, ran.stderr


def test_a_registry_is_sent_every_layer_once_and_a_changed_one_is_found(
    tool: Tool, assembled: Assembled, loopback_registry: str, tmp_path: Path
) -> None:
    name = f"{loopback_registry}/team/tf:1"
    push = ("build", assembled.lock, "--engine", "assemble", "-t", name, "--push", "--json")
    assert _image(tool(*push))["pushed"][0]["bytes"] > 100_000_000
    assert _image(tool(*push))["pushed"][0]["bytes"] == 0
    same = tool("verify", name, "--lock", assembled.lock, "--json")
    assert same.status == 0, same.stdout + same.stderr
    assert same.document()["same"] is True

    file = _change_a_file(assembled, tmp_path / "changed")
    changed = f"{loopback_registry}/team/tf:changed"
    _run("skopeo", "copy", "--quiet", "--dest-tls-verify=false", f"oci:{tmp_path / 'changed'}:1", f"docker://{changed}")
    done = tool("verify", changed, "--lock", assembled.lock, "--json")

    assert done.status == 1, done.stdout + done.stderr
    differences = done.document()["differences"]
    assert [each["layer"] for each in differences if each["layer"].startswith("packages")] == ["packages"]
    assert file in json.dumps(differences)

    static = ("validate", "--tier", "static", "--require", "static", "--lock", assembled.lock, "--json")
    good = tool(*static, assembled.layout)
    assert good.status == 0, good.stdout + good.stderr
    bad = tool(*static, tmp_path / "changed")
    assert bad.status == 1
    failed = {each["id"]: each.get("problem") for each in bad.document()["results"] if each["outcome"] == "failed"}
    assert failed.keys() == {"layers-match-lock", "files-recorded"}
    assert file in str(failed["files-recorded"])


def test_a_fresh_runner_fetches_a_small_own_package_that_changed_and_nothing_else(
    tool: Tool, assembled: Assembled, loopback_registry: str, tmp_path: Path
) -> None:
    layers, name = f"{loopback_registry}/team/layers", f"{loopback_registry}/team/tf"
    _image(
        tool("build", assembled.lock, "--engine", "assemble", "-o", tmp_path / "x.tar", "--cache-to", layers, "--json")
    )
    runner = tmp_path / "runner"
    runner.mkdir()
    shutil.copyfile(assembled.lock, runner / "envbuilder.lock")
    fresh = {"ENVBUILDER_CACHE": str(runner / "cache"), "ENVBUILDER_LAYER_CACHE": layers}
    # Without a place of .debs and without an engine: the base comes from nowhere.
    fresh |= {"ENVBUILDER_DEBIAN_MIRROR": "http://127.0.0.1:9/", "DOCKER_HOST": NO_ENGINE}
    command = Tool(environ={**tool.environ, **fresh}, cache=runner / "cache")

    lock = _lock(command, runner, "humanize==4.9.0")
    image = _image(command("build", lock, "--engine", "assemble", "-t", f"{name}:1", "--push", "--json"))

    locked, before = (load(path.read_text(encoding="utf-8"), "lock") for path in (lock, assembled.lock))
    assert (locked.base, locked.image is not None) == (before.base, True)
    assert [pin.name for pin in locked.group(PackageGroup.OWN)] == ["humanize"]
    store = Store(folder=runner / "cache" / "store")
    assert [pin.name for pin in locked.packages if store.has(f"sha256:{pin.sha256}")] == ["humanize"]
    assert not [pin.name for pin in locked.base.packages if store.has(f"sha256:{pin.sha256}")]
    there = {layer["digest"] for layer in image["layers"] if store.has(layer["digest"])}
    assert there == {layer["digest"] for layer in image["layers"] if layer["id"] in {"own", "image"}}
    same = tool("verify", f"{name}:1", "--lock", lock, "--json")
    assert (same.status, same.document()["same"]) == (0, True), same.stdout + same.stderr


def test_skopeo_reads_the_layout(assembled: Assembled) -> None:
    seen = json.loads(_run("skopeo", "inspect", f"oci:{assembled.layout}:{TAG}").stdout)

    assert seen["Digest"] == assembled.manifest
    assert seen["Layers"] == [layer["digest"] for layer in assembled.made["layers"]]


def test_unsquashfs_lists_the_files_of_a_squashfs(tool: Tool, assembled: Assembled, tmp_path: Path) -> None:
    file = tmp_path / "image.sqsh"
    assert tool("build", assembled.lock, "--engine", "assemble", "-t", TAG, "-o", file).status == 0

    listed = set(_run("unsquashfs", "-l", str(file)).stdout.splitlines())

    assert "squashfs-root/opt/venv/lib/python3.11/site-packages/tensorflow/__init__.py" in listed
    assert "squashfs-root/etc/os-release" in listed


@pytest.mark.parametrize("form", ["tar", "zstd"])
def test_the_packing_of_layers_does_not_change_what_the_image_is(
    tool: Tool, assembled: Assembled, tmp_path: Path, form: str
) -> None:
    done = tool(
        *("build", assembled.lock, "--engine", "assemble", "-t", f"{TAG}-{form}", "--layer-format", form),
        *("-o", tmp_path / "layout", "--json"),
    )

    image = _image(done)
    assert image["id"] == assembled.made["id"]
    assert image["manifest"] != assembled.manifest
    shutil.rmtree(tmp_path / "layout")


@pytest.mark.parametrize(("row", "python"), [(ROW, "3.11"), (SOURCES_ROW, "3.8")])
def test_uv_installs_the_same_files_apart_from_named_differences(
    tool: Tool, tmp_path: Path, row: str, python: str
) -> None:
    if python == "3.8":
        done = tool("python", "pack", python)
        assert done.status == 0, done.stderr
    lock = _lock(tool, tmp_path, row=row)
    tag = f"envbuilder-test/tree-{row}:1"
    done = tool("build", lock, "--engine", "assemble", "-t", tag, "-o", tmp_path / "layout")
    assert done.status == 0, done.stderr
    _run("umoci", "unpack", "--image", f"{tmp_path / 'layout'}:{tag}", str(tmp_path / "unpacked"))

    ours = _installed(tmp_path / "unpacked" / "rootfs" / "opt" / "venv")
    theirs = _installed(_by_uv(lock, tmp_path / "by-uv", python, tool))

    assert sorted(ours.keys() ^ theirs.keys()) == []
    assert [path for path in sorted(ours) if ours[path] != theirs[path]] == []
    assert len(ours) > 5000
    shutil.rmtree(tmp_path / "unpacked")
    shutil.rmtree(tmp_path / "by-uv")
    shutil.rmtree(tmp_path / "layout")


def _layers_of_all_images() -> set[str]:
    client = docker.from_env()
    try:
        return {layer for image in client.images.list(all=True) for layer in image.attrs["RootFS"].get("Layers", ())}
    finally:
        client.close()


def _installed(venv: Path) -> dict[str, str]:
    """What is in a virtual environment, as digests by path, without the NAMED DIFFERENCES.

    Left out: bytecode; INSTALLER, REQUESTED and uv's own notes, which say who installed; of RECORD the lines of all
    these and of scripts; the start of the memory hook; the skeleton of a virtual environment; of scripts the first line
    with the interpreter.
    """
    found = {}
    for path in venv.rglob("*"):
        name = str(path.relative_to(venv))
        if path.is_symlink() or not path.is_file() or _differs_by_nature(name):
            continue
        content = path.read_bytes()
        if path.name == "RECORD":
            rows = csv.reader(io.StringIO(content.decode()))
            kept = sorted(row for row in rows if not _differs_by_nature(row[0]) and not row[0].startswith("../"))
            content = json.dumps(kept).encode()
        elif name.startswith("bin/"):
            content = content.partition(b"\n")[2]
        found[name] = hashlib.sha256(content).hexdigest()
    return found


def _differs_by_nature(name: str) -> bool:
    skeleton = r"pyvenv\.cfg|CACHEDIR\.TAG|\.gitignore|\.lock|bin/(activate.*|deactivate.*|pydoc\.bat|python.*)"
    site = r"(lib/[^/]+/site-packages/)?"
    notes = r"[^/]+\.dist-info/(INSTALLER|REQUESTED|direct_url\.json|uv_cache\.json|uv_build\.json)"
    return bool(
        re.fullmatch(skeleton, name)
        or re.fullmatch(site + notes, name)
        or re.fullmatch(site + r"(_virtualenv\.(py|pth)|envbuilder_memory\.pth)", name)
        or "__pycache__" in name
    )


def _by_uv(lock: Path, venv: Path, python: str, tool: Tool) -> Path:
    pins = load(lock.read_text(encoding="utf-8"), "lock").packages
    uv = str(Path(sys.executable).parent / "uv")
    _run(uv, "venv", "--quiet", "--python", interpreter(python), str(venv))
    tools = venv.parent / "build-tools"
    # Source distributions are built with the tools of the lock. Their optional extensions are left out here as in an
    # image: neither has a compiler.
    environ = {**tool.environ, "CC": "/nonexistent/cc", "PYTHONPATH": str(tools)}
    for target, group in ((tools, True), (None, False)):
        chosen = [pin for pin in pins if (pin.group is PackageGroup.BUILD) is group]
        if not chosen:
            continue
        wanted = venv.parent / "requirements.txt"
        wanted.write_text("".join(f"{pin.name}=={pin.version} --hash=sha256:{pin.sha256}\n" for pin in chosen))
        _run(
            *(uv, "pip", "install", "--quiet", "--python", str(venv / "bin" / "python"), "--no-deps"),
            *("--require-hashes", "--no-build-isolation", "-r", str(wanted)),
            *("--cache-dir", str(venv.parent / "uv-cache"), *(("--target", str(target)) if target else ())),
            environ=environ,
        )
    return venv


def _change_a_file(assembled: Assembled, target: Path) -> str:
    """A copy of the layout, one byte of a Python file in the layer `packages` changed; gives the path in the image."""
    shutil.copytree(assembled.layout, target)
    layer = next(each for each in assembled.made["layers"] if each["id"] == "packages")
    content = bytearray(gzip.decompress(_blob(target, layer["digest"]).read_bytes()))
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        member = next(each for each in archive if each.name.endswith(".py") and each.size > 100)
    content[member.offset_data + 50] ^= 1
    manifest = json.loads(_blob(target, assembled.manifest).read_bytes())
    config = _blob(target, assembled.made["id"]).read_text(encoding="utf-8")
    diff_id = f"sha256:{hashlib.sha256(content).hexdigest()}"
    manifest["config"].update(_put(target, config.replace(layer["diff_id"], diff_id).encode()))
    for each in manifest["layers"]:
        if each["digest"] == layer["digest"]:
            each.update(_put(target, gzip.compress(bytes(content), compresslevel=1)))
    described = {
        "mediaType": manifest["mediaType"],
        "annotations": {"org.opencontainers.image.ref.name": "1"},
        **_put(target, json.dumps(manifest).encode()),
    }
    (target / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [described]}), encoding="utf-8")
    return member.name


def _blob(layout: Path, digest: str) -> Path:
    return layout / "blobs" / "sha256" / digest.removeprefix("sha256:")


def _put(layout: Path, content: bytes) -> dict[str, str | int]:
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    _blob(layout, digest).write_bytes(content)
    return {"digest": digest, "size": len(content)}


def _lock(tool: Tool, folder: Path, *own: str, row: str = ROW) -> Path:
    spec = f'environment: "{row}"\npackages: [{", ".join(own)}]\n'
    (folder / "envbuilder.yaml").write_text(spec, encoding="utf-8")
    done = tool("lock", folder=folder)
    assert done.status == 0, done.stderr
    return folder / "envbuilder.lock"


def _image(done: Ended) -> Any:  # noqa: ANN401  any JSON
    assert done.status == 0, done.stderr
    return done.document()["images"][0]


def _run(*command: str, folder: Path | None = None, environ: dict[str, str] | None = None) -> Ended:
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return Ended(status=0, stdout=done.stdout, stderr=done.stderr)


def _remove(cache: Path) -> None:
    subprocess.run(["/bin/rm", "-rf", str(cache)], check=True)

"""The main job on real input: row, lock, image, probe, report; with the CPU row, which is the small one."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import docker
import pytest

from envbuilder.image.container_engine import ContainerEngine
from envbuilder.oci.runtime.command import RunRequest
from tests.e2e.conftest import MARKER, Tool

pytestmark = pytest.mark.xdist_group("engine")

ROW = "tf-2.15-cpu"
IMAGE = "envbuilder-test/main-job:1"


@pytest.fixture(scope="module")
def built(tool: Tool, engine: ContainerEngine) -> str:
    """The image of the CPU row, built as a user would."""
    done = tool("build", ROW, "--tag", IMAGE, "--json")
    assert done.status == 0, done.stderr
    document = done.document()
    [image] = document["images"]
    assert image["builder"] == "buildkit"
    assert image["tags"] == [IMAGE]
    assert Path(document["log"]).read_text(encoding="utf-8")
    return IMAGE


def test_the_image_passes_its_validation(tool: Tool, built: str) -> None:
    done = tool("validate", built, "--tier", "cpu", "--require", "cpu", "--json")

    report = done.document()
    assert done.status == 0
    assert report["passed"] is True
    outcomes = {each["id"]: each["outcome"] for each in report["results"]}
    for check in ("distributions-present", "tensorflow-imports", "training-loss-falls", "save-load-equal"):
        assert outcomes[check] == "passed"


def test_a_missing_gpu_is_never_a_pass_when_the_gpu_tier_is_asked_for(tool: Tool, built: str) -> None:
    done = tool("validate", built, "--require", "gpu", "--tier", "cpu", "--json")

    assert done.status == 1
    assert done.document()["passed"] is False


def test_a_package_off_its_lock_is_found(tool: Tool, built: str, engine: ContainerEngine, tmp_path: Path) -> None:
    inside = engine.run(RunRequest(image=built, command=("/bin/cat", "/opt/envbuilder/envbuilder.lock")))
    text = inside.stdout.decode()
    # A lock whose file is of another version than its pin is refused before anything is looked at.
    changed = re.sub(r'(name: "six"\n    version: )"[^"]+"', r'\1"1.15.99"', text)
    changed = re.sub(r'file: "six-[^-]+-', 'file: "six-1.15.99-', changed)
    assert changed.count("1.15.99") == 2
    (tmp_path / "other.lock").write_text(changed, encoding="utf-8")

    done = tool("validate", built, "--lock", tmp_path / "other.lock", "--tier", "cpu")

    assert done.status == 1
    assert "six" in done.stdout
    assert "1.15.99" in done.stdout


def test_a_running_container_is_validated_and_left_running(tool: Tool, built: str) -> None:
    client = docker.from_env()
    container = client.containers.run(built, ["sleep", "600"], detach=True)
    name = str(container.name)
    try:
        done = tool("validate", "--container", name, "--tier", "cpu", "--require", "cpu", "--json")
        container.reload()
        assert container.status == "running"
    finally:
        container.remove(force=True)
        client.close()
    assert done.status == 0, done.stdout + done.stderr
    assert done.document()["subject"] == name
    gone = tool("validate", "--container", name)
    assert gone.status == 6
    assert "docker ps" in gone.stderr


def test_a_program_runs_in_the_image_with_a_memory_policy_and_its_folder(
    tool: Tool, built: str, tmp_path: Path
) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "train.py").write_text(
        "import os, sys, tensorflow as tf\n"
        "print(os.getcwd(), os.environ['ENVBUILDER_MEMORY'], tf.__version__)\n"
        "open('made', 'w').write('x')\n"
        "sys.exit(5)\n",
        encoding="utf-8",
    )
    done = tool("run", "--memory", "limit:1GiB", "--mount", folder, built, "--", "python", "train.py")

    assert done.status == 5, done.stderr
    assert done.stdout.split() == ["/work/job", "limit:1GiB", "2.15.1"]
    assert "without GPUs; GPU memory: limit:1GiB (--memory)" in done.stderr
    assert (folder / "made").read_text(encoding="utf-8") == "x"
    assert (folder / "made").stat().st_uid == os.geteuid()


def test_a_second_build_takes_every_step_from_the_cache(tool: Tool, built: str) -> None:
    done = tool("build", ROW, "--tag", IMAGE, "--json")

    commands = [step for step in done.document()["steps"] if " RUN " in step["name"]]
    assert commands
    assert all(step["cached"] for step in commands)


def test_the_image_runs_as_an_ordinary_user_and_holds_no_tools_or_caches(built: str, engine: ContainerEngine) -> None:
    tools = " -o ".join(f"-name {name}" for name in ("uv", "pip", "gcc", "make", "'*.deb'", "'libcuda.so*'"))
    script = (
        f"id -u; ls -A /run /tmp /var/lib/apt/lists /var/cache/apt/archives; find / -xdev ! -type d \\( {tools} \\)"
    )
    seen = engine.run(RunRequest(image=built, command=("/bin/sh", "-c", script))).stdout.decode().split()

    folders = {"/run:", "/tmp:", "/var/lib/apt/lists:", "/var/cache/apt/archives:"}
    assert seen[0] == "1000"
    assert set(seen[1:]) == {*folders, "lock", "partial"}


def test_neither_ca_bundle_nor_proxy_settings_are_in_the_image(built: str) -> None:

    client = docker.from_env(timeout=600)
    try:
        history = repr(client.images.get(built).history()) + repr(client.images.get(built).attrs)
        assert MARKER not in history
        tail = b""
        for chunk in client.images.get(built).save():
            assert MARKER.encode() not in tail + chunk
            tail = chunk[-len(MARKER) :]
    finally:
        client.close()


def test_own_package_and_file_change_the_last_layers_only_and_push_little_more(
    tool: Tool, built: str, engine: ContainerEngine, tmp_path: Path, loopback_registry: str
) -> None:
    first, second = (f"{loopback_registry}/team/tf:{name}" for name in ("before", "after"))
    assert tool("init", ROW, folder=tmp_path).status == 0
    # An account of its own: where an engine has built the same layers twice (--no-cache), it may take either of them.
    with (tmp_path / "envbuilder.yaml").open("a", encoding="utf-8") as spec_file:
        spec_file.write(f"user:\n  uid: {20_000 + os.getpid()}\n")
    assert tool("lock", folder=tmp_path).status == 0
    before = tool("build", "--tag", first, "--push", "--json", folder=tmp_path)
    assert before.status == 0, before.stderr
    spec = tmp_path / "envbuilder.yaml"
    (tmp_path / "hello.py").write_text("import humanize; print(humanize.intcomma(1000))", encoding="utf-8")
    text = spec.read_text(encoding="utf-8").replace("packages: []", 'packages: ["humanize"]')
    spec.write_text(f'{text}files:\n  "/workspace/hello.py": "hello.py"\n', encoding="utf-8")

    stale = tool("lock", "--check", folder=tmp_path)
    assert stale.status == 1
    assert "spec.packages" in stale.stdout
    refused = tool("build", "--tag", second, folder=tmp_path)
    assert refused.status == 2
    assert "is out of date" in refused.stderr

    old = (tmp_path / "envbuilder.lock").read_text(encoding="utf-8")
    (tmp_path / "old.lock").write_text(old, encoding="utf-8")
    assert tool("lock", folder=tmp_path).status == 0
    difference = tool("diff", tmp_path / "old.lock", tmp_path / "envbuilder.lock")
    assert difference.status == 1
    assert "packages.own.humanize" in difference.stdout

    after = tool("build", "--tag", second, "--push", "--json", folder=tmp_path)
    assert after.status == 0, after.stderr
    layers = [engine.image(tag) for tag in (first, second)]
    assert layers[0] is not None
    assert layers[1] is not None
    pairs = zip(layers[0].diff_ids, layers[1].diff_ids, strict=False)
    shared = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))
    # The package, the file, the lock with the probe, and the working directory.
    assert shared >= len(layers[1].diff_ids) - 4
    ran = engine.run(RunRequest(image=second, command=("python", "hello.py")))
    assert (ran.status, ran.stdout.strip()) == (0, b"1,000")
    pushed = after.document()["images"][0]["pushed"][0]
    assert pushed["present"] >= shared
    assert pushed["bytes"] < 2_000_000


def test_a_rendered_folder_builds_with_plain_docker_build(tool: Tool, built: str, tmp_path: Path) -> None:
    folder = tmp_path / "rendered"
    assert tool("render", ROW, "-o", folder, "--host-settings").status == 0
    again = tool("render", ROW, "-o", folder, "--host-settings")
    assert again.status == 0, again.stderr

    client = "/usr/bin/docker" if Path("/usr/bin/docker").exists() else shutil.which("docker") or "docker"
    done = subprocess.run(
        [client, "build", "--network", "host", "--tag", "envbuilder-test/plain:1", str(folder)],
        env={**os.environ, "DOCKER_BUILDKIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert tool("validate", "envbuilder-test/plain:1", "--tier", "cpu").status == 0


def test_an_interrupted_build_ends_in_the_engine_and_leaves_no_tag(
    tool: Tool, built: str, engine: ContainerEngine
) -> None:
    tag = "envbuilder-test/interrupted:1"
    process = subprocess.Popen(
        # Who runs the tests in the background has told their shell to ignore interrupts, which children inherit.
        ["/usr/bin/env", "--default-signal=INT", tool.program, "build", ROW, "--no-cache", "--tag", tag],
        env=dict(tool.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("> [download "):
            break
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=600)

    assert process.returncode == 130, output + errors
    assert engine.image(tag) is None
    deadline = time.monotonic() + 60
    while _runs_in_engine("uv pip install") and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _runs_in_engine("uv pip install")


def _runs_in_engine(words: str) -> bool:
    """Whether a process with these words in its command line is still there."""
    commands = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            commands.append(entry.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return any(words in command and "/run/envbuilder" in command for command in commands)


def test_the_classic_builder_is_a_stated_fallback(tool: Tool, built: str) -> None:
    done = tool("build", ROW, "--builder", "classic", "--tag", "envbuilder-test/classic:1", "--json")

    assert done.status == 0, done.stderr
    assert done.document()["images"][0]["builder"] == "classic"
    assert tool("validate", "envbuilder-test/classic:1", "--tier", "cpu").status == 0

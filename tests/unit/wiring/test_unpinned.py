"""Commands that state what an image will be work where its base cannot be fetched, and fetch nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.image.base.tree_store import TreeStore
from envbuilder.lock.lock import OsPackagePin
from tests.fakes.catalogs import ROOT
from tests.unit.cli.debs import served
from tests.unit.cli.running import CommandLine
from tests.unit.image.base.test_tree_store import tree_in

LOST = "tf-1.7-cuda9.0"
FACTS = ROOT / "tests" / "cases" / "facts" / "tf-2.15-cpu.json"


@pytest.fixture(autouse=True)
def _nothing_answers(envbuilder: CommandLine) -> None:
    """No engine, and nothing behind the network: what asks for something fails."""
    envbuilder.set("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"):
        envbuilder.set(name, "http://127.0.0.1:9")


def fetched(envbuilder: CommandLine) -> list[Path]:
    cache = envbuilder.folder / "cache"
    return [path for name in ("bases", "pythons", "locks") for path in (cache / name).rglob("*") if path.is_file()]


@pytest.mark.parametrize("row", [LOST, "tf-2.15-cpu", "tf-2.4-cuda11.0"])
def test_plan_fetches_nothing(row: str, envbuilder: CommandLine) -> None:
    ended = envbuilder("plan", row)
    assert ended.status == 0
    assert "not pinned yet: base" in ended.stdout
    document = json.loads(envbuilder("plan", row, "--json").stdout)
    assert document["lock"] is None
    assert document["unpinned"][0].startswith("base ")
    assert not fetched(envbuilder)


@pytest.mark.parametrize(("program", "loose"), [("sudo", False), ("su", True)])
def test_a_kept_base_is_not_that_of_a_spec_which_allows_one_of_its_programs(
    program: str, loose: bool, envbuilder: CommandLine
) -> None:
    """The archive on loopback lacks the package: where the kept base is not used, none is made."""
    package = OsPackagePin(name="libc6", version="2.36-9", sha256="ab" * 32, file="pool/gone.deb", size=1)
    tree = replace(tree_in(envbuilder.folder / "making", b"a tree"), packages=(package,))
    kept = TreeStore(envbuilder.folder / "cache" / "bases").put(tree)
    spec = f'environment: "tf-2.15-cpu"\nbase: "debian-bookworm"\nallow: ["/usr/bin/{program}"]\n'
    envbuilder.write("envbuilder.yaml", spec)
    with served(envbuilder.folder / "archive") as mirror:
        written = envbuilder("lock", "--no-image", "--debian-mirror", mirror)
    assert written.status == 0
    assert ("not pinned: base debian-bookworm" in written.stdout) is loose
    assert (kept.digest in (envbuilder.folder / "envbuilder.lock").read_text()) is not loose


def test_plan_of_a_named_base_is_about_that_base(envbuilder: CommandLine) -> None:
    planned = json.loads(envbuilder("plan", "tf-2.10-cuda11.2", "--base", "debian-bookworm", "--json").stdout)
    assert planned["layers"][0]["title"] == "debian-bookworm"
    assert planned["unpinned"] == ["base debian-bookworm", "interpreter archive of Python 3.10"]


def test_logs_facts_and_environments_are_compared_with_an_environment_without_a_base(envbuilder: CommandLine) -> None:
    envbuilder.write("some.log", "Illegal instruction (core dumped)\n")
    diagnosed = json.loads(envbuilder("diagnose", "some.log", "--lock", LOST, "--json").stdout)
    assert diagnosed["seen"]["tensorflow"] == "1.7.1"
    compared = envbuilder("compare", LOST, "tf-2.15-cpu")
    assert (compared.status, "1.16.6" in compared.stdout) == (0, True)
    report = json.loads(envbuilder("validate", "--facts", str(FACTS), "--lock", "tf-2.15-cpu", "--json").stdout)
    assert {each["id"]: each["outcome"] for each in report["results"]}["tensorflow-version"] == "passed"
    assert not fetched(envbuilder)


def test_render_says_what_is_not_pinned(envbuilder: CommandLine) -> None:
    ended = envbuilder("render", LOST, "-o", "out")
    assert ended.status == 0
    assert "does not build: not pinned: base debian-bookworm" in ended.stdout
    assert "tf-1.7-cuda9.0 cannot be built here" in ended.stderr
    again = json.loads(envbuilder("render", LOST, "-o", "out", "--json").stdout)
    assert (again["lock"], again["base"]) == (None, "envbuilder/base:debian-bookworm-unpinned")


def test_a_lock_without_its_base_is_written_shown_and_not_built(envbuilder: CommandLine) -> None:
    envbuilder.write("envbuilder.yaml", f'environment: "{LOST}"\nbase: "nvidia-cuda-9.0-cudnn7"\n')
    assert envbuilder("lock").status == 5
    written = envbuilder("lock", "--no-image")
    assert written.status == 0
    assert "cannot be built: not pinned: base nvidia-cuda-9.0-cudnn7" in written.stdout
    assert envbuilder("lock", "--check").status == 0
    assert "not pinned yet: base nvidia-cuda-9.0-cudnn7" in envbuilder("plan").stdout
    assert "Not pinned, so it cannot be built" in envbuilder("show", "envbuilder.lock").stdout
    for verb in (("build",), ("bundle", "-o", "b.tar"), ("reproduce",)):
        refused = envbuilder(*verb)
        assert refused.status == 2
        assert "does not pin base nvidia-cuda-9.0-cudnn7" in refused.stderr


def test_a_lock_that_pins_everything_is_not_replaced_by_one_that_does_not(envbuilder: CommandLine) -> None:
    envbuilder.write("envbuilder.yaml", f'environment: "{LOST}"\n')
    envbuilder("lock", "--no-image")
    path = envbuilder.folder / "envbuilder.lock"
    pinned = path.read_text(encoding="utf-8").replace('digest: ""', f'digest: "sha256:{"1" * 64}"')
    path.write_text(pinned.replace('sha256: ""', f'sha256: "{"2" * 64}"').replace('version: ""', 'version: "1"'))
    before = path.read_bytes()
    assert envbuilder("lock", "--no-image").status == 5
    assert path.read_bytes() == before

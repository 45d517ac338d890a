"""An environment has exactly the files of a closure, by hash, and nothing of it stays behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import SourceUnreachable, ToolFailed
from envbuilder.core.uv import Uv
from envbuilder.core.versions import Release
from envbuilder.curation.proof.bare_environments import BareEnvironments
from envbuilder.curation.proof.interpreters import HostPython, HostPythons
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.lock.closures import Closure
from tests.fakes.installing_uv import InstallingUv, installing_uv
from tests.fakes.proving import good_facts
from tests.fakes.resolver import chosen

PYTHON = HostPython(path=Path("/opt/python3.8/bin/python3.8"), version=Release("3.8.18"), glibc="2.36")
WHEELS = Closure(
    python=Release("3.8"), answers=(), packages=(chosen("numpy", "1.19.5"), chosen("six", "1.15.0")), build=()
)
MIXED = replace(
    WHEELS,
    packages=(chosen("six", "1.15.0"), chosen("termcolor", "1.1.0", source=True)),
    build=(chosen("setuptools", "59.0"), chosen("wheel", "0.40")),
)


@pytest.fixture
def uv(tmp_path: Path) -> InstallingUv:
    return installing_uv(tmp_path / "uv")


def environments(
    uv: InstallingUv, index: str = "", look: Callable[[Path], Facts] = lambda _: good_facts()
) -> BareEnvironments:
    environ = {"PATH": os.defpath, "KEPT": "yes", "UV_DEFAULT_INDEX": "https://host.example/simple"}
    return BareEnvironments(
        pythons=HostPythons(folders=(), search=(), environ={}),
        look=look,
        uv=Uv(program=uv.path, cache=uv.path.parents[1] / "work" / "uv", environ=environ, index=index),
        work=uv.path.parents[1] / "work",
    )


def lines(closure: Closure, *names: str) -> str:
    pins = {each.name: each for each in (*closure.packages, *closure.build)}
    return "".join(f"{name}=={pins[name].version} --hash=sha256:{pins[name].sha256}\n" for name in names)


def left(uv: InstallingUv) -> list[Path]:
    work = uv.path.parents[1] / "work"
    return [path for path in work.rglob("*") if path.is_file()] if work.is_dir() else []


def test_wheels_are_installed_by_hash_without_asking_what_they_need(uv: InstallingUv) -> None:
    with environments(uv).made(PYTHON, WHEELS) as python:
        assert python.parts[-3:] == ("venv", "bin", "python")
        made, installed = uv.calls
    venv = str(python.parents[1])
    assert made.arguments == ("venv", "--quiet", "--no-project", "--python", str(PYTHON.path), venv)
    assert installed.arguments[:2] == ("pip", "install")
    assert {"--no-deps", "--require-hashes"} <= set(installed.arguments)
    assert installed.arguments[installed.arguments.index("--python") + 1] == str(python)
    assert installed.requirements == lines(WHEELS, "numpy", "six")


def test_a_source_distribution_is_built_with_the_tools_of_the_closure_outside_of_the_environment(
    uv: InstallingUv,
) -> None:
    with environments(uv).made(PYTHON, MIXED) as python:
        _, wheels, tools, sources = uv.calls
    folder = str(python.parents[2] / "build-tools")
    assert wheels.requirements == lines(MIXED, "six")
    assert tools.requirements == lines(MIXED, "setuptools", "wheel")
    assert tools.arguments[tools.arguments.index("--target") + 1] == folder
    assert "--target" not in sources.arguments
    assert "--no-build-isolation" in sources.arguments
    assert sources.requirements == lines(MIXED, "termcolor")
    assert sources.environ["PYTHONPATH"] == folder
    assert wheels.environ["PYTHONPATH"] == ""


def test_uv_gets_the_environment_of_the_host_and_a_cache_of_our_own(uv: InstallingUv) -> None:
    with environments(uv).made(PYTHON, WHEELS):
        pass
    for call in uv.calls:
        assert call.environ == {
            "UV_CACHE_DIR": str(uv.path.parents[1] / "work" / "uv"),
            "UV_DEFAULT_INDEX": "https://host.example/simple",
            "PYTHONPATH": "",
            "UV_PYTHON_DOWNLOADS": "never",
            "KEPT": "yes",
        }


def test_a_named_index_goes_before_that_of_the_host(uv: InstallingUv) -> None:
    with environments(uv, index="https://named.example/simple").made(PYTHON, WHEELS):
        pass
    assert {call.environ["UV_DEFAULT_INDEX"] for call in uv.calls} == {"https://named.example/simple"}


def test_the_environment_is_gone_after_the_block(uv: InstallingUv) -> None:
    with environments(uv).made(PYTHON, WHEELS) as python:
        folder = python.parents[2]
        assert folder.is_dir()
    assert not folder.exists()


def test_the_environment_is_gone_when_the_block_fails(uv: InstallingUv) -> None:
    with pytest.raises(KeyboardInterrupt), environments(uv).made(PYTHON, WHEELS):
        raise KeyboardInterrupt
    assert not left(uv)


@pytest.mark.parametrize("fails_from", [1, 2, 3, 4])
def test_whatever_uv_cannot_do_is_told_and_nothing_stays(tmp_path: Path, fails_from: int) -> None:
    uv = installing_uv(tmp_path / "uv", fails_from=fails_from, stderr="error: hash mismatch of six\n")
    with pytest.raises(ToolFailed, match="hash mismatch of six"), environments(uv).made(PYTHON, MIXED):
        raise AssertionError("there is no environment")
    assert len(uv.calls) == fails_from
    assert not left(uv)


@pytest.mark.parametrize(
    "said",
    [
        "error: Failed to fetch: `six-1.15.0-py3-none-any.whl`\n  HTTP status client error (404 Not Found)",
        "error sending request\n  dns error: failed to lookup",
        "  operation timed out",
    ],
)
def test_an_index_that_does_not_give_a_file_is_named_as_the_cause(tmp_path: Path, said: str) -> None:
    uv = installing_uv(tmp_path / "uv", fails_from=2, stderr=said)
    with pytest.raises(SourceUnreachable, match="index") as caught, environments(uv).made(PYTHON, WHEELS):
        raise AssertionError("there is no environment")
    assert "proxy" in caught.value.hint


def test_only_the_end_of_a_long_output_is_told(tmp_path: Path) -> None:
    said = "".join(f"line {number}\n" for number in range(40))
    uv = installing_uv(tmp_path / "uv", fails_from=1, stderr=said)
    with pytest.raises(ToolFailed) as caught, environments(uv).made(PYTHON, WHEELS):
        raise AssertionError("there is no environment")
    assert caught.value.message.splitlines()[1:] == [f"line {number}" for number in range(28, 40)]


def test_a_run_probes_the_environment_and_then_removes_it_and_the_large_download(uv: InstallingUv) -> None:
    steps: list[str] = []

    def look(python: Path) -> Facts:
        assert python.parents[2].is_dir(), "the probe runs while the environment is there"
        steps.append("probe")
        return good_facts()

    facts = environments(uv, look=look).run(PYTHON, WHEELS, "tensorflow-gpu", lambda: steps.append("installed"))
    assert (facts, steps) == (good_facts(), ["installed", "probe"])
    assert uv.calls[-1].arguments == ("cache", "clean", "--quiet", "tensorflow-gpu")
    assert uv.calls[-1].environ["UV_CACHE_DIR"].endswith("/work/uv")
    assert not left(uv)


def test_a_run_that_fails_drops_the_large_download_too(tmp_path: Path) -> None:
    uv = installing_uv(tmp_path / "uv", fails_from=2, stderr="error: hash mismatch of six\n")
    with pytest.raises(ToolFailed, match="hash mismatch of six"):
        environments(uv).run(PYTHON, WHEELS, "tensorflow", lambda: None)
    assert uv.calls[-1].arguments == ("cache", "clean", "--quiet", "tensorflow")


def test_a_host_without_the_interpreter_finds_none(uv: InstallingUv) -> None:
    assert environments(uv).find(Release("3.8")) is None


def test_clearing_drops_everything_and_may_be_repeated(uv: InstallingUv) -> None:
    made = environments(uv)
    (made.work / "uv" / "wheels").mkdir(parents=True)
    (made.work / "uv" / "wheels" / "six.whl").write_bytes(b"x")
    made.clear()
    made.clear()
    assert not made.work.exists()

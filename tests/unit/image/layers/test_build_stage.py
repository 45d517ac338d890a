"""Own packages are built by their backend, in a tree with the environment and the build tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from envbuilder.core.errors import BuildFailed
from envbuilder.image.layers.build_stage import BuildStage, build_in_stage, require_build_tools, unpack_stage
from envbuilder.image.layers.interpreter import venv_entries
from envbuilder.image.layers.wheel_file import open_wheel
from envbuilder.image.layers.wheels import Prefix
from envbuilder.lock.container_settings import STAGE_VARIABLES
from envbuilder.oci.runtime.command import RunResult
from envbuilder.oci.runtime.sandbox import Task
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import file_of
from tests.unit.image.layers.source_distributions import sdist
from tests.unit.image.layers.wheels import wheel

HATCH = b"""[build-system]
requires = ["hatchling>=1.2", "toml; python_version < '3'"]
build-backend = "hatchling.build"
"""
OWN = b"""[build-system]
requires = []
build-backend = "own"
backend-path = ["_b"]
"""
SCRIPTS = b"[console_scripts]\nhatch=hatchling:x"


@dataclass
class FakeSandbox:
    """Remembers its task; the build writes a wheel, or ends with a status."""

    folder: Path
    status: int = 0
    timed_out: bool = False
    tasks: list[Task] = field(default_factory=list)
    name: str = "fake"
    version: str = "1"

    def run(self, task: Task) -> RunResult:
        self.tasks.append(task)
        made = wheel(self.folder, {"toy.py": b"pass"}, name="toy-1.0-py3-none-any.whl", dist_info="toy-1.0.dist-info")
        copied = None if self.status or self.timed_out else made.read_bytes()
        said = b"toy.c:1:10: fatal error: Python.h: No such file or directory"
        return RunResult(status=self.status, stdout=b"", stderr=said, timed_out=self.timed_out, copied=copied)


@pytest.fixture
def sandbox(tmp_path: Path) -> FakeSandbox:
    (tmp_path / "made").mkdir()
    return FakeSandbox(tmp_path / "made")


@pytest.fixture
def stage(tmp_path: Path, sandbox: FakeSandbox) -> BuildStage:
    prefix = Prefix(venv="opt/venv", series="3.8")

    def opened(name: str, files: Mapping[str, bytes]) -> Path:
        return wheel(tmp_path, files, name=f"{name}-1.0-py3-none-any.whl", dist_info=f"{name}-1.0.dist-info")

    numpy = opened("numpy", {"numpy/__init__.py": b""})
    hatch = opened(
        "hatchling",
        {
            "hatchling/build.py": b"",
            "hatchling-1.0.dist-info/entry_points.txt": b"[console_scripts]\nhatch=hatchling:x",
        },
    )
    return unpack_stage(
        base=[file_of("usr/bin/gcc", b"gcc", mtime=0, mode=0o755), file_of("usr/bin/c++", b"c++", mtime=0, mode=0o755)],
        venv=venv_entries("usr", "3.8", "3.8.18"),
        environment=[open_wheel(numpy, numpy.name)],
        tools=[open_wheel(hatch, hatch.name)],
        prefix=prefix,
        root=tmp_path / "stage",
        sandbox=lambda: sandbox,
        variables=(("CC", "gcc-11"), ("WITH_GPU", "1")),
    )


def test_the_tree_has_base_environment_and_tools_each_at_its_place(stage: BuildStage) -> None:
    assert (stage.root / "opt/venv/lib/python3.8/site-packages/numpy/__init__.py").is_file()
    assert (stage.root / "build-stage/tools/lib/python3.8/site-packages/hatchling/build.py").is_file()
    script = stage.root / "build-stage/tools/bin/hatch"
    assert script.read_text(encoding="utf-8").startswith("#!/build-stage/tools/bin/python\n")
    assert (stage.root / "build-stage/tools/bin/python").is_symlink()


def test_a_compiler_without_its_usual_name_is_named_by_a_variable(stage: BuildStage) -> None:
    assert replace(stage, variables=()).environ["CC"] == "gcc"
    assert "CXX" not in stage.environ, "c++ is there"


def test_variables_of_the_spec_are_those_of_builds_too(stage: BuildStage) -> None:
    assert stage.environ["WITH_GPU"] == "1"
    assert stage.environ["CC"] == "gcc-11"
    assert set(replace(stage, variables=()).environ) - {"CC"} <= STAGE_VARIABLES, "a spec cannot set these"


def test_the_backend_of_the_project_builds_it_and_the_same_wheel_is_kept_each_time(
    tmp_path: Path, stage: BuildStage, sandbox: FakeSandbox
) -> None:
    store = Store(folder=tmp_path / "store")
    path = sdist(tmp_path, {"toy-1.0/pyproject.toml": HATCH, "toy-1.0/setup.py": b"raise SystemExit"})
    first = build_in_stage(path, path.name, stage, store)
    assert build_in_stage(path, path.name, stage, store) == first
    [task, _] = sandbox.tasks
    assert task.command[3:5] == ("hatchling.build", "[]")
    assert task.tree == stage.root
    assert not task.host_network
    assert dict(task.env)["PATH"].startswith("/build-stage/tools/bin:/opt/venv/bin:")
    assert dict(task.env)["SOURCE_DATE_EPOCH"]


@pytest.mark.parametrize(
    ("files", "backend", "paths"),
    [
        ({"toy-1.0/setup.py": b""}, "setuptools.build_meta:__legacy__", "[]"),
        ({"toy-1.0/pyproject.toml": b"[tool.black]\n"}, "setuptools.build_meta:__legacy__", "[]"),
        (
            {"toy-1.0/pyproject.toml": OWN},
            "own",
            '["_b"]',
        ),
    ],
)
def test_a_project_may_name_no_backend_or_its_own(
    tmp_path: Path, stage: BuildStage, sandbox: FakeSandbox, files: dict[str, bytes], backend: str, paths: str
) -> None:
    path = sdist(tmp_path, files)
    build_in_stage(path, path.name, stage, Store(folder=tmp_path / "store"))
    assert sandbox.tasks[0].command[3:5] == (backend, paths)


def test_a_requirement_that_the_lock_does_not_have_is_named_with_the_line_to_add(tmp_path: Path) -> None:
    path = sdist(tmp_path, {"toy-1.0/pyproject.toml": HATCH})
    with pytest.raises(BuildFailed, match=r'requires "hatchling>=1\.2", which is not among the build tools') as caught:
        require_build_tools(path, path.name, frozenset({"numpy"}), "3.8")
    assert 'build_requires: ["hatchling>=1.2"]' in caught.value.hint
    require_build_tools(path, path.name, frozenset({"hatchling"}), "3.8")


@pytest.mark.parametrize("content", [b"no toml", b"[build-system]\nrequires = ['===']\n", b"build-system = 1\n"])
def test_a_project_file_that_cannot_be_read_is_a_failed_build(
    tmp_path: Path, stage: BuildStage, content: bytes
) -> None:
    path = sdist(tmp_path, {"toy-1.0/pyproject.toml": content})
    with pytest.raises(BuildFailed, match=r"its pyproject\.toml cannot be read"):
        build_in_stage(path, path.name, stage, Store(folder=tmp_path / "store"))


def test_a_failed_build_shows_the_last_lines_and_where_to_name_what_is_missing(
    tmp_path: Path, stage: BuildStage, sandbox: FakeSandbox
) -> None:
    sandbox.status = 1
    path = sdist(tmp_path, {"toy-1.0/setup.py": b""})
    with pytest.raises(BuildFailed, match=r"status 1:\n.*Python\.h: No such file") as caught:
        build_in_stage(path, path.name, stage, Store(folder=tmp_path / "store"))
    assert "`build_tools:`" in caught.value.hint


def test_a_build_that_does_not_end_is_a_failed_build(tmp_path: Path, stage: BuildStage, sandbox: FakeSandbox) -> None:
    sandbox.timed_out = True
    path = sdist(tmp_path, {"toy-1.0/setup.py": b""})
    with pytest.raises(BuildFailed, match="did not finish within 3600 s"):
        build_in_stage(path, path.name, stage, Store(folder=tmp_path / "store"))


def test_an_archive_with_two_directories_is_refused(tmp_path: Path, stage: BuildStage) -> None:
    path = sdist(tmp_path, {"toy-1.0/setup.py": b"", "other/setup.py": b""})
    with pytest.raises(BuildFailed, match="2 top directories"):
        build_in_stage(path, path.name, stage, Store(folder=tmp_path / "store"))

"""The stage that builds own packages: compilers, build backends and the environment, in a tree that is no layer.

The tree is the base with the OS packages of the image and of the stage, the interpreter, the distributions of the
environment at their paths in the image, and the build dependencies in a directory of their own. It is removed after the
build; only wheels leave it.
"""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from envbuilder.core.errors import ToolFailed, VerificationFailed
from envbuilder.core.image_layout import BUILD_STAGE, VENV, site_packages
from envbuilder.image.layers.entries import Entry, completed, link
from envbuilder.image.layers.image_python import write_tree
from envbuilder.image.layers.sdists import build_failure, kept_wheel, unpacked_sdist
from envbuilder.image.layers.wheel_file import Wheel
from envbuilder.image.layers.wheels import Prefix, installed
from envbuilder.oci.runtime.outputs import open_to_all
from envbuilder.oci.runtime.sandbox import BUILD_LIMITS, FOREIGN, GIB, Sandbox, Task
from envbuilder.oci.store import Store, full_disk
from envbuilder.oci.tar.members import EPOCH, Member

_TOOLS = f"{BUILD_STAGE}/tools"
_SOURCE, _WORK, _WHEEL = "/mnt/source", "/tmp/build", "/tmp/built.whl"  # noqa: S108  in the sandbox
_LIMITS = replace(BUILD_LIMITS, memory=6 * GIB, seconds=3600, output=32 << 20)
"""Limits of one build. A compiler took 1.1 GiB for an op that includes TensorFlow's headers (g++ 12, 2026-11-23)."""

_TIME_LIMIT = 3600.0
_TAIL_LINES = 20
_DEFAULT_BACKEND = "setuptools.build_meta:__legacy__"
"""Backend of a project that names none. Source: https://peps.python.org/pep-0517/#source-trees"""

_BUILD = """
import importlib, json, os, shutil, sys
backend, paths, source, work, wheel = sys.argv[1:]
shutil.copytree(source, work, symlinks=True)
os.chdir(work)
out = work + ".out"
os.mkdir(out)
sys.argv = ["build"]
sys.path[:0] = [os.path.join(work, path) for path in json.loads(paths)]
module, _, names = backend.partition(":")
hooks = importlib.import_module(module)
for name in filter(None, names.split(".")):
    hooks = getattr(hooks, name)
os.rename(os.path.join(out, hooks.build_wheel(out)), wheel)
"""
"""Calls the hook of PEP 517; what every interpreter of the catalog understands."""

_COMPILERS = (("usr/bin/cc", "usr/bin/gcc", "CC", "gcc"), ("usr/bin/c++", "usr/bin/g++", "CXX", "g++"))
"""Names that Debian's scripts would add as alternatives, which nothing runs here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildStage:
    """A tree that can build packages.

    Attributes:
        series: `3.8`.
        sandbox: Returns the sandbox; called for each build.
        variables: Environment variables of builds, from the spec.
    """

    root: Path
    series: str
    sandbox: Callable[[], Sandbox]
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def environ(self) -> Mapping[str, str]:
        """Variables of a build."""
        compilers = {
            variable: program
            for alternative, path, variable, program in _COMPILERS
            if (self.root / path).exists() and not (self.root / alternative).exists()
        }
        fixed = {
            "HOME": "/tmp",  # noqa: S108  in the sandbox
            "LC_ALL": "C.UTF-8",
            "PATH": f"/{_TOOLS}/bin:/{VENV}/bin:/usr/local/bin:/usr/bin:/bin",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": f"/{site_packages(self.series, _TOOLS)}",
            "SOURCE_DATE_EPOCH": str(EPOCH),
            "VIRTUAL_ENV": f"/{VENV}",
        }
        return compilers | dict(self.variables) | fixed


def unpack_stage(  # noqa: PLR0913  each is one part of the tree
    *,
    base: Iterable[Member],
    venv: Iterable[Entry],
    environment: Iterable[Wheel],
    tools: Iterable[Wheel],
    prefix: Prefix,
    root: Path,
    sandbox: Callable[[], Sandbox],
    variables: tuple[tuple[str, str], ...],
) -> BuildStage:
    """Write the tree of a build stage.

    Args:
        base: Base with OS packages, and interpreter; directories before what they hold.
        venv: The empty virtual environment.
        environment: Distributions below the own ones.
        tools: Build dependencies.
        prefix: The virtual environment.
        root: Must not exist.
        sandbox: Returns the sandbox for builds.
        variables: Environment variables of builds, from the spec.
    """
    aside = replace(prefix, venv=_TOOLS)
    entries = [
        *venv,
        *(entry for wheel in environment for entry in installed(wheel, prefix)),
        *(entry for wheel in tools for entry in installed(wheel, aside)),
        link(f"{_TOOLS}/bin/python", prefix.python),
    ]
    with full_disk(root):
        write_tree((*base, *(entry.member for entry in completed(entries))), root)
    open_to_all(root)
    return BuildStage(root=root, series=prefix.series, sandbox=sandbox, variables=variables)


def require_build_tools(sdist: Path, name: str, available: frozenset[str], series: str) -> None:
    """Raise BuildFailed if a project requires build tools that a build stage would not have; nothing of it is run.

    Args:
        sdist: The source distribution; its content was compared with its hash.
        name: Its name on the index.
        available: Normalized names of the distributions of the stage.
        series: Major and minor version of the interpreter.

    Raises:
        BuildFailed: Something is missing, or pyproject.toml cannot be read.
        VerificationFailed: The archive is damaged, or leads out of its directory.
    """
    with tempfile.TemporaryDirectory(prefix="envbuilder-sdist-") as scratch:
        requires = _project(_top(sdist, name, Path(scratch)), name).requires
    facts = {"python_version": series, "sys_platform": "linux", "platform_machine": "x86_64"}
    lacking = sorted(
        f'"{each.name}{each.specifier}"'
        for each in requires
        if canonicalize_name(each.name) not in available and (not each.marker or each.marker.evaluate(facts))
    )
    if lacking:
        listed = ", ".join(lacking)
        raise build_failure(
            name,
            f"its pyproject.toml requires {listed}, which is not among the build tools",
            f"add to envbuilder.yaml: `build_requires: [{listed}]`, then run `envbuilder lock`",
        )


def build_in_stage(sdist: Path, name: str, stage: BuildStage, store: Store) -> str:
    """Build a wheel by the build backend of its project, and add it to the store.

    Args:
        sdist: The source distribution; its content was compared with its hash.
        name: Its name on the index.
        stage: The build stage.
        store: Receives the wheel.

    Returns:
        Digest of the wheel in the store.

    Raises:
        BuildFailed: It cannot be built.
        ToolMissing: No sandbox is available to build it in.
        VerificationFailed: The archive is damaged, or leads out of its directory.
    """
    with tempfile.TemporaryDirectory(prefix="envbuilder-sdist-") as scratch:
        root = Path(scratch)
        top = _top(sdist, name, root)
        project = _project(top, name)
        open_to_all(root / "source")
        task = Task(
            tree=stage.root,
            command=(
                f"/{VENV}/bin/python",
                "-c",
                _BUILD,
                project.backend,
                json.dumps(project.paths),
                _SOURCE,
                _WORK,
                _WHEEL,
            ),
            env=tuple(sorted(stage.environ.items())),
            uid=FOREIGN,
            gid=FOREIGN,
            mounts=((str(top), _SOURCE),),
            timeout=_TIME_LIMIT,
            copy_out=_WHEEL,
            limits=_LIMITS,
        )
        try:
            result = stage.sandbox().run(task)
        except (ToolFailed, VerificationFailed) as error:
            raise build_failure(name, error.message) from error
        if result.timed_out:
            raise build_failure(name, f"the build did not finish within {_TIME_LIMIT:.0f} s")
        if result.status or result.copied is None:
            lines = (result.stdout + result.stderr).decode("utf-8", "replace").splitlines()[-_TAIL_LINES:]
            raise build_failure(name, "\n".join((f"the build exited with status {result.status}:", *lines)))
        return kept_wheel(result.copied, name, root, store)


def _top(sdist: Path, name: str, root: Path) -> Path:
    tops = unpacked_sdist(sdist, name, root / "source")
    if len(tops) != 1:
        raise build_failure(name, f"it has {len(tops)} top directories instead of one", "choose another version")
    return tops[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Project:
    """The table `build-system` of a pyproject.toml.

    Attributes:
        backend: Build backend, `MODULE[:OBJECT]`.
        paths: Directories of the project to import it from.
        requires: What the build needs.
    """

    backend: str = _DEFAULT_BACKEND
    paths: tuple[str, ...] = ()
    requires: tuple[Requirement, ...] = ()


def _project(project: Path, name: str) -> _Project:
    try:
        document = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
        system = document.get("build-system", {})
        return _Project(
            backend=str(system.get("build-backend", _DEFAULT_BACKEND)),
            paths=tuple(str(path) for path in system.get("backend-path", [])),
            requires=tuple(Requirement(str(each)) for each in system.get("requires", [])),
        )
    except FileNotFoundError:
        return _Project()
    except (OSError, ValueError, AttributeError, TypeError, RecursionError, InvalidRequirement) as error:
        raise build_failure(name, f"its pyproject.toml cannot be read: {error}", "choose another version") from error

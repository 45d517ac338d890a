"""Build a wheel from a source distribution that has none, with the interpreter of the image and pinned build tools.

The wheel is written anew afterwards: sorted, without times, not compressed. So its digest is a function of what is in
it. Compilers are not found on purpose: extensions that are optional are left out on every machine, not on some.
"""

from __future__ import annotations

import shutil
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

from envbuilder.archives.extraction import BadArchive, extract
from envbuilder.archives.zip_file import opened
from envbuilder.assembling.entries import EPOCH
from envbuilder.assembling.target_python import TargetPython
from envbuilder.errors import BuildFailed, EnvbuilderError, VerificationFailed
from envbuilder.model.builds import NO_COMPILER
from envbuilder.store import Store

_BUILD = "import setuptools, sys, runpy; sys.argv[0] = 'setup.py'; runpy.run_path('setup.py', run_name='__main__')"
_WITH_PYPROJECT = (
    "choose a version that has a wheel, or build with an engine, which reads pyproject.toml: --engine docker"
)
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)


def build_wheel(sdist: Path, name: str, tools: Iterable[Path], python: TargetPython, store: Store) -> str:
    """Build a wheel and keep it.

    Args:
        sdist: The source distribution; its content was compared with its hash.
        name: Its name on the index.
        tools: Wheels of setuptools and wheel.
        python: The interpreter of the image.
        store: Keeps the wheel.

    Returns:
        Digest of the wheel in the store.

    Raises:
        BuildFailed: It cannot be built this way.
        VerificationFailed: The archive is damaged, or leads out of its folder.
    """
    with tempfile.TemporaryDirectory(prefix="envbuilder-sdist-") as scratch:
        root = Path(scratch)
        source = _unpacked(sdist, name, root / "source")
        build_tools = root / "tools"
        build_tools.mkdir()
        for tool in tools:
            extract(tool, build_tools)
        out = root / "out"
        out.mkdir()
        try:
            python.run(
                ["-c", _BUILD, "-q", "bdist_wheel", "--dist-dir", str(out)],
                folder=source,
                environ={"PYTHONPATH": str(build_tools), "SOURCE_DATE_EPOCH": str(EPOCH), "HOME": str(root)},
            )
            made = next(iter(sorted(out.glob("*.whl"))))
        except (EnvbuilderError, StopIteration) as error:
            raise BuildFailed(
                f"{name} cannot be built into a wheel: {error}",
                hint=NO_COMPILER,
                step=name,
            ) from error
        return _kept(made, root / "canonical.whl", store)


def _unpacked(sdist: Path, name: str, target: Path) -> Path:
    target.mkdir()
    try:
        extract(sdist, target)
    except (BadArchive, OSError) as error:
        raise VerificationFailed(f"{name} cannot be unpacked: {error}", hint="choose another version of it") from error
    tops = sorted(path for path in target.iterdir() if path.is_dir())
    if len(tops) != 1 or not (tops[0] / "setup.py").is_file():
        raise BuildFailed(
            f"{name} has no setup.py in its only folder",
            hint=_WITH_PYPROJECT if _builds_by_setuptools(tops) else NO_COMPILER,
            step=name,
        )
    return tops[0]


def _builds_by_setuptools(tops: list[Path]) -> bool:
    """Return True if a pyproject.toml leaves the build to setuptools, which is all that an engine has."""
    try:
        project = tomllib.loads((tops[0] / "pyproject.toml").read_text(encoding="utf-8"))
    except (IndexError, OSError, ValueError):
        return False
    system = project.get("build-system", {})
    backend = system.get("build-backend", "setuptools") if isinstance(system, dict) else ""
    return str(backend).startswith("setuptools")


def _kept(made: Path, canonical: Path, store: Store) -> str:
    with opened(made) as source, zipfile.ZipFile(canonical, "w", zipfile.ZIP_STORED) as target:
        for info in sorted(source.members, key=lambda info: info.filename):
            if info.is_dir():
                continue
            entry = zipfile.ZipInfo(info.filename, _FIRST_DAY)
            entry.create_system = 3
            mode = 0o100755 if info.external_attr >> 16 & 0o111 else 0o100644
            entry.external_attr = mode << 16
            with source.archive.open(info) as content, target.open(entry, "w") as copy:
                shutil.copyfileobj(content, copy)
    return store.take(canonical)

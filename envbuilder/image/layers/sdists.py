"""Wheels built from source distributions, with the interpreter of the image and pinned build tools.

The wheel is rewritten afterwards: sorted, without times, not compressed. So its digest depends on its content alone.
Compilers are deliberately hidden: optional extensions are left out on every machine, not on some. Own packages that
need one are built in a stage of their own (`build_stage.py`).
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from envbuilder.core.archives.extraction import extract
from envbuilder.core.archives.member_names import BadArchive
from envbuilder.core.archives.zip_reader import opened
from envbuilder.core.errors import BuildFailed, ToolFailed, VerificationFailed
from envbuilder.image.builds import BUILD_HINT
from envbuilder.image.layers.image_python import TargetPython
from envbuilder.oci.runtime.outputs import open_to_all
from envbuilder.oci.runtime.sandbox import SCRIPT_LIMITS
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import EPOCH

_SOURCE, _TOOLS, _WHEEL = "/mnt/source", "/mnt/tools", "/tmp/built.whl"  # noqa: S108  in the sandbox
_BUILD = """
import glob, os, runpy, shutil, sys
source, wheel = sys.argv[1:]
work, out = os.path.dirname(wheel) + "/source", os.path.dirname(wheel) + "/out"
shutil.copytree(source, work, symlinks=True)
os.chdir(work)
import setuptools
sys.argv = ["setup.py", "-q", "bdist_wheel", "--dist-dir", out]
runpy.run_path("setup.py", run_name="__main__")
os.rename(sorted(glob.glob(out + "/*.whl"))[0], wheel)
"""
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)


def build_wheel(sdist: Path, name: str, tools: Iterable[Path], python: TargetPython, store: Store) -> str:
    """Build a wheel and add it to the store.

    Args:
        sdist: The source distribution; its content was compared with its hash.
        name: Its name on the index.
        tools: Wheels of setuptools and wheel.
        python: The interpreter of the image.
        store: Receives the wheel.

    Returns:
        Digest of the wheel in the store.

    Raises:
        BuildFailed: It cannot be built this way.
        ToolMissing: No sandbox is available to build it in.
        VerificationFailed: The archive is damaged, or leads out of its directory.
    """
    with tempfile.TemporaryDirectory(prefix="envbuilder-sdist-") as scratch:
        root = Path(scratch)
        source = _unpacked(sdist, name, root / "source")
        build_tools = root / "tools"
        build_tools.mkdir()
        for tool in tools:
            extract(tool, build_tools)
        for folder in (source, build_tools):
            open_to_all(folder)
        try:
            built = python.run(
                ["-c", _BUILD, _SOURCE, _WHEEL],
                mounts={_SOURCE: source, _TOOLS: build_tools},
                environ={
                    "PYTHONPATH": _TOOLS,
                    "SOURCE_DATE_EPOCH": str(EPOCH),
                    "HOME": str(PurePosixPath(_WHEEL).parent),
                },
                copy_out=_WHEEL,
                limits=SCRIPT_LIMITS,
            )
        except (ToolFailed, VerificationFailed) as error:
            raise build_failure(name, str(error)) from error
        if built is None:
            raise build_failure(name, "setup.py made no wheel")
        return kept_wheel(built, name, root, store)


def build_failure(name: str, reason: str, hint: str = BUILD_HINT) -> BuildFailed:
    """Return the error for a source distribution that cannot be built; `name` is that of its file."""
    return BuildFailed(f"{name} cannot be built into a wheel: {reason}", hint=hint, step=name)


def unpacked_sdist(sdist: Path, name: str, target: Path) -> tuple[Path, ...]:
    """Unpack a source distribution into a new directory, and return its top directories; one, if it is valid.

    Raises:
        VerificationFailed: The archive is damaged, or leads out of the directory.
    """
    target.mkdir()
    try:
        extract(sdist, target)
    except (BadArchive, OSError) as error:
        raise VerificationFailed(
            f"{name} cannot be unpacked: {error}", hint="choose another version of the package"
        ) from error
    return tuple(sorted(path for path in target.iterdir() if path.is_dir()))


def _unpacked(sdist: Path, name: str, target: Path) -> Path:
    tops = unpacked_sdist(sdist, name, target)
    if len(tops) != 1 or not (tops[0] / "setup.py").is_file():
        raise BuildFailed(
            f"{name} has no setup.py in its top directory",
            hint=BUILD_HINT,
            step=name,
        )
    return tops[0]


def kept_wheel(made: bytes, name: str, root: Path, store: Store) -> str:
    """Write a wheel again so that its bytes depend on its content alone, and add it to the store; return its digest.

    Raises:
        BuildFailed: It is damaged.
    """
    wheel, canonical = root / "made.whl", root / "canonical.whl"
    wheel.write_bytes(made)
    try:
        _write_canonical(wheel, canonical)
    except BadArchive as error:
        raise build_failure(name, f"its wheel is damaged: {error}") from error
    return store.take(canonical)


def _write_canonical(made: Path, canonical: Path) -> None:
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

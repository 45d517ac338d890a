"""Archives of an installed CPython that run wherever they are unpacked: making and reading them."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path

from envbuilder.core.archives.extraction import extract
from envbuilder.core.errors import ToolFailed
from envbuilder.image.base.interpreter import identify
from envbuilder.image.base.programs import BaseHost
from envbuilder.image.base.python_files import TOP, select
from envbuilder.image.base.python_survey import PythonArchive, inspect
from envbuilder.oci.tar import writing as tarball

_REQUIRED = ("ctypes", "hashlib", "json", "venv", "zlib")
_OPTIONAL = ("bz2", "curses", "dbm.gnu", "lzma", "readline", "sqlite3", "ssl", "uuid")

_TRIAL = """
import importlib, json, os, sys
failed = {}
for name in %r:
    try:
        importlib.import_module(name)
    except Exception as error:
        failed[name] = str(error)
with open("/proc/self/maps") as maps:
    libraries = sorted({line.split()[-1] for line in maps if "/libpython" in line})
print(json.dumps({"prefix": os.path.realpath(sys.prefix), "failed": failed, "libraries": libraries}))
"""


def pack(interpreter: Path, out: Path, *, host: BaseHost) -> PythonArchive:
    """Pack the installation behind a Python program.

    Left out: third-party packages, bytecode, tests, pip, tkinter, IDLE, static libraries, headers other than
    `pyconfig.h` and `patchlevel.h`. The same installation gives the same bytes, also from a copy at another place.
    The archive is unpacked elsewhere and started there before it gets its name.

    Args:
        interpreter: Program of the installation, or of a virtual environment made from it.
        out: Directory for the archive, which is named `cpython-<version>-x86_64-linux-gnu.tar.gz`.
        host: Its whole environment is passed on to the interpreter.

    Raises:
        UsageError: This Python cannot be packed; see `identify`.
        ToolFailed: The packed interpreter does not run.
    """
    found = identify(interpreter, host)
    selection = select(found)
    name = f"cpython-{found.version}-x86_64-linux-gnu.tar.gz"
    with tempfile.TemporaryDirectory(dir=out, prefix=".pack-") as scratch:
        written = tarball.write(selection.members, Path(scratch) / name, gzipped=True)
        archive = inspect(written.path)
        missing = _try(archive, Path(scratch), host)
        final = written.path.replace(out / name)
    return replace(archive, path=final, missing=missing, leftovers=selection.leftovers)


def _try(archive: PythonArchive, scratch: Path, host: BaseHost) -> tuple[str, ...]:
    """Run the packed interpreter at another place, and import its optional modules.

    Returns:
        Optional modules that it lacks, sorted.
    """
    extract(archive.path, scratch)
    series = archive.version.series
    libraries = ":".join(str(scratch / folder) for folder in archive.library_dirs)
    environ = dict(host.environ) | ({"LD_LIBRARY_PATH": libraries} if libraries else {})
    command = [str(scratch / TOP / "bin" / f"python{series}"), "-I", "-B", "-c", _TRIAL % (_REQUIRED + _OPTIONAL,)]
    ran = host.run(command, environ=environ, folder=scratch)
    if ran.status:
        raise ToolFailed(f"the packed Python {archive.version} does not start: {' '.join(ran.tail[-3:])}")
    answer = json.loads(ran.stdout)
    _require_own(answer, scratch.resolve() / TOP, archive)
    failed: dict[str, str] = answer["failed"]
    broken = "\n".join(f"  {name}: {failed[name]}" for name in _REQUIRED if name in failed)
    if broken:
        raise ToolFailed(
            f"the packed Python {archive.version} lacks modules that TensorFlow needs\n{broken}",
            hint="install the development packages of zlib, libffi and OpenSSL, and build that Python again",
        )
    return tuple(sorted(name for name in failed if name in _OPTIONAL))


def _require_own(answer: dict[str, str], top: Path, archive: PythonArchive) -> None:
    """Raise UsageError unless the interpreter runs from where it was unpacked."""
    places = [answer["prefix"], *answer["libraries"]]
    strange = [place for place in places if not re.match(re.escape(str(top)) + "(/|$)", place)]
    if strange:
        raise ToolFailed(
            f"the packed Python {archive.version} still uses {', '.join(strange)}",
            hint="pack a Python that was built without --enable-shared, such as one from `uv python install`",
        )

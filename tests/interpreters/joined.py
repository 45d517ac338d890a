"""The probe as a file, as it lies in an image."""

from __future__ import annotations

import atexit
import py_compile
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

from envbuilder.diagnostics.probe.script import probe_source


@cache
def probe_file() -> Path:
    """The joined probe in a directory of its own, for as long as the tests run."""
    folder = Path(tempfile.mkdtemp(prefix="envbuilder-joined-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / "probe.py"
    file.write_bytes(probe_source())
    return file


@cache
def _compiled() -> Path:
    file = probe_file().with_suffix(".pyc")
    py_compile.compile(str(probe_file()), cfile=str(file), doraise=True)
    return file


def probe_command(python: Path = Path(sys.executable)) -> list[str]:
    """The command that runs the probe.

    The interpreter of the tests gets the bytecode: each of the probe's eight processes would compile the source again,
    which takes longer than what it looks at. The others get the source, as in an image.
    """
    return [str(python), str(_compiled() if python == Path(sys.executable) else probe_file())]

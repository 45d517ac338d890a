"""The probe as a file, as it lies in an image."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from envbuilder.diagnostics.probe.script import probe_source


@cache
def probe_file() -> Path:
    """The joined probe in a folder of its own, for as long as the tests run."""
    folder = Path(tempfile.mkdtemp(prefix="envbuilder-joined-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / "probe.py"
    file.write_bytes(probe_source())
    return file

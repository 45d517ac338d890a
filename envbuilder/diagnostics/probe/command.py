"""The probe as one command: for places without writable files."""

from __future__ import annotations

import base64
import zlib

from envbuilder.diagnostics.probe.requests import ProbeRequest
from envbuilder.diagnostics.probe.script import probe_source

# Runs on every Python that the probe supports; the directory is removed afterwards.
_LAUNCH = """
import base64, os, shutil, subprocess, sys, tempfile, zlib
folder = tempfile.mkdtemp(prefix="envbuilder-probe-")
try:
    for name, packed in zip(("probe.py", "request.json"), sys.argv[1:]):
        with open(os.path.join(folder, name), "wb") as target:
            target.write(zlib.decompress(base64.b64decode(packed)))
    paths = [os.path.join(folder, name) for name in ("probe.py", "request.json")]
    status = subprocess.call([sys.executable, paths[0], "--request", paths[1]])
finally:
    shutil.rmtree(folder, ignore_errors=True)
sys.exit(status)
"""


def launch(python: str, request: ProbeRequest) -> tuple[str, ...]:
    """Return a command that runs the probe with an interpreter.

    Args:
        python: Path of the interpreter, where the command will run.
        request: The request.

    Returns:
        Program and arguments; no argument is longer than Linux allows (128 KiB), with plenty of room.
    """
    return (python, "-c", _LAUNCH, _packed(probe_source()), _packed(request.encode()))


def _packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 9)).decode("ascii")

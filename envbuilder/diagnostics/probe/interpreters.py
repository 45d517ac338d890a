"""Run the probe with an interpreter of this host, without a container."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from envbuilder.core.errors import ToolFailed, ToolMissing
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.probe.decoding import read_answer
from envbuilder.diagnostics.probe.requests import ProbeRequest
from envbuilder.diagnostics.probe.script import probe_source

_NAME_ONE = "specify a Python interpreter: --python /path/to/environment/bin/python"
_COMPILED = """
import os, py_compile, sys
script = sys.argv[1] + "c"
py_compile.compile(sys.argv[1], cfile=script, doraise=True)
os.execv(sys.executable, [sys.executable, script] + sys.argv[2:])
"""


def probe_python(
    path: Path, request: ProbeRequest, *, environ: Mapping[str, str] | None = None, timeout: float = 900.0
) -> Facts:
    """Probe the environment of one interpreter.

    Args:
        path: The interpreter; that of a virtual environment probes that environment.
        request: The request.
        environ: Its whole environment; None means that of this process.
        timeout: Seconds for the whole.

    Raises:
        ToolMissing: There is no such program.
        ToolFailed: It gave no answer.
    """
    return _answer(path, *_run(path, request, environ, timeout))


def probe_document(path: Path, request: ProbeRequest, *, timeout: float) -> bytes:
    """Run the probe with an interpreter, and return its output after checking that it contains facts.

    It is compiled once, not once for each of its processes, which saves half of its run time.

    Raises:
        ToolMissing: There is no such program.
        ToolFailed: It gave no answer, or is not Python.
    """
    status, stdout, stderr = _run(path, request, None, timeout, start=("-c", _COMPILED))
    _answer(path, status, stdout, stderr)
    return stdout


def _answer(path: Path, status: int, stdout: bytes, stderr: bytes) -> Facts:
    """Return the facts; raise a specific error if the program is not Python."""
    try:
        return read_answer(status, stdout, stderr, origin=str(path))
    except ToolFailed as error:
        if _is_python(path):
            raise
        raise ToolFailed(f"{path} is not a Python interpreter: it cannot run Python code", hint=_NAME_ONE) from error


def _is_python(path: Path) -> bool:
    """Return True if a program runs Python code."""
    command = [str(path), "-c", "import sys; sys.stdout.write('python')"]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=10, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout == b"python"


def _run(
    path: Path,
    request: ProbeRequest,
    environ: Mapping[str, str] | None,
    timeout: float,
    *,
    start: tuple[str, ...] = (),
) -> tuple[int, bytes, bytes]:
    """Return exit status, standard output and standard error of a probe in a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="envbuilder-probe-") as directory:
        script, asked = Path(directory, "probe.py"), Path(directory, "request.json")
        script.write_bytes(probe_source())
        asked.write_bytes(request.encode())
        command = [str(path), *start, str(script), "--request", str(asked)]
        try:
            done = subprocess.run(
                command, env=environ, capture_output=True, check=False, timeout=timeout, stdin=subprocess.DEVNULL
            )
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise ToolMissing(f"cannot run {path}: {reason}", hint=_hint(path)) from error
        except subprocess.TimeoutExpired as error:
            raise ToolFailed(f"the probe of {path} did not answer within {timeout:.0f} s") from error
    return done.returncode, done.stdout, done.stderr


def _hint(path: Path) -> str:
    """Return a hint that names the interpreter; that of an environment if its directory was given."""
    inside = path / "bin" / "python"
    return f"specify its interpreter: --python {inside}" if inside.is_file() else _NAME_ONE

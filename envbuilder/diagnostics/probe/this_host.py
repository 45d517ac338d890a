"""Facts of this host: a quick view from the driver's own files, or the probe's quick parts."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from envbuilder.catalog.machine import Host, HostGpu
from envbuilder.core.errors import ToolFailed
from envbuilder.core.versions import release_of
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.probe.decoding import read_answer
from envbuilder.diagnostics.probe.script import probe_source

_RELEASE = re.compile(r"Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)")
_MODEL = re.compile(r"^Model:\s*(.+?)\s*$", re.MULTILINE)
_WINDOWS = Path("dev", "dxg")
_TIME_LIMIT = 30.0

# The probe as a module: its quick facts, without opening CUDA's libraries or computing.
_QUICK = """
import importlib.util, sys, time
spec = importlib.util.spec_from_file_location("probe", sys.argv[1])
probe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(probe)
started = time.monotonic()
out = probe.private_stdout()
facts = {
    "interpreter": probe.look(probe.interpreter),
    "machine": probe.look(probe.machine),
    "driver": probe.look(probe.driver, ""),
    "nvml": probe.opened(probe.look(probe.nvml_fact, "")),
}
probe.write(out, {"schema": probe.SCHEMA, "seconds": time.monotonic() - started, "facts": facts})
"""


def quick_host(root: Path = Path("/")) -> Host | None:
    """Return driver and GPUs from the kernel module's files: takes a few milliseconds, and starts no process.

    Returns:
        None if no driver for Linux is loaded; the GPUs have their names only.

    Source: `/proc/driver/nvidia` of drivers 390 to 590.
    """
    directory = root / "proc" / "driver" / "nvidia"
    release = _RELEASE.search(_content(directory / "version"))
    if release is None:
        return None
    models = [_MODEL.search(_content(file)) for file in sorted(directory.glob("gpus/*/information"))]
    gpus = tuple(HostGpu(name=model[1], capability=None) for model in models if model)
    return Host(name="this host", driver=release_of(release[1]), gpus=gpus or None)


def is_windows_subsystem(root: Path = Path("/")) -> bool:
    """Return True if GPUs come through Windows, so that the files above are missing."""
    return (root / _WINDOWS).exists()


def quick_facts() -> Facts:
    """Return the facts of the probe's quick parts: processor, memory, driver, GPUs.

    Raises:
        ToolFailed: It gave no answer.
    """
    with tempfile.TemporaryDirectory(prefix="envbuilder-probe-") as name:
        script = Path(name, "probe.py")
        script.write_bytes(probe_source())
        command = [sys.executable, "-c", _QUICK, str(script)]
        try:
            done = subprocess.run(
                command, capture_output=True, check=False, timeout=_TIME_LIMIT, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired as error:
            raise ToolFailed(f"the probe of this host did not answer within {_TIME_LIMIT:.0f} s") from error
    return read_answer(done.returncode, done.stdout, done.stderr, origin="this host")


def _content(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

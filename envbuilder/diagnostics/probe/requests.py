"""The request to the probe, and the probe as one command for places without writable files."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import asdict, dataclass

from envbuilder.catalog.expectation import Expectation
from envbuilder.diagnostics.facts.facts import FACTS_SCHEMA
from envbuilder.diagnostics.probe.script import probe_source


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRequest:
    """A request to the probe.

    Attributes:
        optional_sonames: Libraries that only a feature needs.
        train: Whether to train, save and load.
        gpu: Whether to compute on GPUs, in TensorFlow and through CUDA's own libraries.
        framework: Whether to look at TensorFlow; without it the hardware is looked at, and the host.
        compute: Whether to compute on GPUs through CUDA's own libraries, where the hardware is looked at.
        limit: Seconds for everything that runs in TensorFlow.
        hardware: Whether to look at the hardware and the host beside TensorFlow too.
    """

    sonames: tuple[str, ...] = ()
    optional_sonames: tuple[str, ...] = ()
    train: bool = True
    gpu: bool = False
    framework: bool = True
    compute: bool = True
    limit: float = 600.0
    hardware: bool = False

    def encode(self) -> bytes:
        """Return the request as the probe reads it: one JSON object, keys sorted."""
        document = asdict(self) | {"schema": FACTS_SCHEMA, "hardware": self.hardware or self.gpu}
        return (json.dumps(document, sort_keys=True) + "\n").encode("utf-8")


def request_for(expectation: Expectation, *, gpu: bool) -> ProbeRequest:
    """Return the request for judging an image."""
    cuda = expectation.cuda
    return ProbeRequest(
        sonames=cuda.sonames if cuda else (), optional_sonames=cuda.need.optional if cuda else (), gpu=gpu
    )


# Runs on every Python that the probe supports; the directory is removed afterwards.
_LAUNCH = """
import base64, os, shutil, subprocess, sys, tempfile, zlib
try:
    directory = tempfile.mkdtemp(prefix="envbuilder-probe-")
except (IOError, OSError):
    directory = tempfile.mkdtemp(prefix="envbuilder-probe-", dir="/dev/shm")  # of a read-only image
try:
    for name, packed in zip(("probe.py", "request.json"), sys.argv[1:]):
        with open(os.path.join(directory, name), "wb") as target:
            target.write(zlib.decompress(base64.b64decode(packed)))
    paths = [os.path.join(directory, name) for name in ("probe.py", "request.json")]
    status = subprocess.call([sys.executable, paths[0], "--request", paths[1]])
finally:
    shutil.rmtree(directory, ignore_errors=True)
sys.exit(status)
"""


def launch(python: str, request: ProbeRequest) -> tuple[str, ...]:
    """Return a command that runs the probe with an interpreter, by its path where the command will run.

    Returns:
        Program and arguments; no argument is longer than Linux allows (128 KiB), with plenty of room.
    """
    return (python, "-c", _LAUNCH, _packed(probe_source()), _packed(request.encode()))


def _packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 9)).decode("ascii")

"""A real registry on the loopback interface, for as long as a test needs it."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PROGRAM = shutil.which("docker-registry") or ""
_SECONDS_TO_START = 60.0


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Run a registry that keeps its blobs under a folder; gives `host:port`."""
    process, port = _started(folder, time.monotonic() + _SECONDS_TO_START)
    with process:
        try:
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()


def _started(folder: Path, deadline: float) -> tuple[subprocess.Popen[bytes], int]:
    """Start a registry on a free port; on another one if that is no longer free when the registry binds it."""
    config = folder / "config.yml"
    while True:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        settings = {
            "version": "0.1",
            "log": {"level": "error"},
            "storage": {"filesystem": {"rootdirectory": str(folder / "blobs")}},
            "http": {"addr": f"127.0.0.1:{port}"},
        }
        config.write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
        process = subprocess.Popen(
            [PROGRAM, "serve", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if _answers(process, port, deadline):
            return process, port


def _answers(process: subprocess.Popen[bytes], port: int, deadline: float) -> bool:
    """Wait until a registry answers; False if it has ended instead."""
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                process.kill()
                pytest.fail("the registry did not start")
            time.sleep(0.05)
        else:
            return process.poll() is None
    assert time.monotonic() < deadline, f"the registry ended with status {process.returncode}"
    return False

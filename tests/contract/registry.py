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

PROGRAM = shutil.which("docker-registry") or ""
_SECONDS_TO_START = 20.0


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Run a registry that keeps its blobs under a folder; gives `host:port`."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    config = folder / "config.yml"
    settings = {
        "version": "0.1",
        "log": {"level": "error"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "blobs")}},
        "http": {"addr": f"127.0.0.1:{port}"},
    }
    config.write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
    with subprocess.Popen(
        [PROGRAM, "serve", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            _wait_for(port)
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + _SECONDS_TO_START
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < deadline, "the registry did not start"
            time.sleep(0.05)
        else:
            return

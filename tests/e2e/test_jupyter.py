"""A cell runs in a kernel of `run --jupyter`, through the interface that browsers use; no browser."""

from __future__ import annotations

import base64
import http.client
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from envbuilder.image.servers import free_port
from tests.e2e.conftest import Tool

ROW = "tf-2.15-cpu"
NOBODY_ANSWERS = "unix:///nonexistent/docker.sock"
SECONDS = 300.0
CELL = """
import json, os, sys, tensorflow as tf
seen = {"tensorflow": tf.__version__, "python": sys.executable, "folder": os.getcwd(), "uid": os.getuid()}
with open("seen.part", "w") as file:
    json.dump(seen, file)
os.rename("seen.part", "seen.json")
"""


class Server:
    """A Jupyter server, by its link."""

    def __init__(self, link: str) -> None:
        parts = urlsplit(link)
        self.port = parts.port or 0
        [self.token] = parse_qs(parts.query)["token"]

    def ask(self, method: str, path: str, body: object = None, *, token: str | None = None) -> tuple[int, object]:
        """Send a request; return status and JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"token {self.token if token is None else token}"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, json.loads(text) if "json" in answer.headers.get("Content-Type", "") else text

    def run_cell(self, kernel: str, code: str) -> socket.socket:
        """Send a cell to a kernel over a web socket, as a browser does; return the open connection."""
        key = base64.b64encode(os.urandom(16)).decode()
        stream = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        head = (
            f"GET /api/kernels/{kernel}/channels HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
            f"Authorization: token {self.token}\r\n\r\n"
        )
        stream.sendall(head.encode())
        assert stream.recv(4096).startswith(b"HTTP/1.1 101")
        content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False, "user_expressions": {}}
        header = {"msg_id": "1", "msg_type": "execute_request", "username": "", "session": "1", "version": "5.3"}
        message = {"channel": "shell", "header": header, "parent_header": {}, "metadata": {}, "content": content}
        payload = json.dumps(message | {"buffers": []}).encode()
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload))
        # One text frame with a length of two bytes: https://www.rfc-editor.org/rfc/rfc6455#section-5.2
        stream.sendall(bytes([0x81, 0x80 | 126]) + len(payload).to_bytes(2, "big") + mask + masked)
        return stream


def wait_for(path: Path) -> str:
    """The text of a file that a cell writes."""
    deadline = time.monotonic() + SECONDS
    while not path.is_file():
        assert time.monotonic() < deadline, f"no {path.name} after {SECONDS:g} s"
        time.sleep(0.1)
    return path.read_text(encoding="utf-8")


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Interrupts reach the command in a script too, where jobs in the background ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_a_cell_runs_in_the_kernel_of_a_server_without_docker(tool: Tool, tmp_path: Path) -> None:
    port = free_port().host
    command = [tool.program, "run", "--jupyter", "-p", f"{port}:8888", "--engine", "assemble", ROW]
    environ = {**tool.environ, "DOCKER_HOST": NOBODY_ANSWERS}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    ) as process:
        try:
            link = next(iter(process.stdout or ()), "").strip()
            assert link, "the command ended without a link"
            server = Server(link)
            assert server.port == port
            assert server.ask("GET", "/api/kernelspecs", token="wrong")[0] == 403
            status, specs = server.ask("GET", "/api/kernelspecs")
            assert status == 200
            assert isinstance(specs, dict)
            assert specs["default"] == "python3"
            status, kernel = server.ask("POST", "/api/kernels", {"name": "python3"})
            assert status == 201
            assert isinstance(kernel, dict)
            with server.run_cell(str(kernel["id"]), CELL):
                seen = json.loads(wait_for(tmp_path / "seen.json"))
        finally:
            process.send_signal(signal.SIGINT)
    assert seen["tensorflow"].startswith("2.15.")
    assert (seen["python"], seen["folder"]) == ("/opt/venv/bin/python", f"/work/{tmp_path.name}")
    assert seen["uid"] == os.getuid()
    assert (tmp_path / "seen.json").stat().st_uid == os.getuid()
    assert process.returncode == 0

"""A Docker engine that answers from a script and can die in the middle of a sentence."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TypeAlias

# Path within the API -> the pieces of a chunked answer; the connection breaks after the last one unless that is empty.
Script: TypeAlias = Mapping[str, tuple[bytes, ...]]


def line(message: object) -> bytes:
    return json.dumps(message).encode() + b"\r\n"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._swallow_body()
        self._answer()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing."""

    def _swallow_body(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                self.rfile.read(size + 2)
            self.rfile.readline()
        else:
            self.rfile.read(int(self.headers.get("Content-Length", "0")))

    def _answer(self) -> None:
        path = self.path.partition("?")[0].removeprefix("/v1.41")
        self.server.asked.append(path)
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")  # or the client may still try to use it for its next request
        self.end_headers()
        for piece in self.server.script.get(path, (b"",)):
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        self.close_connection = True


class _Server(HTTPServer):
    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.asked: list[str] = []


@contextmanager
def engine(script: Script) -> Iterator[tuple[dict[str, str], list[str]]]:
    """Serve a script; gives the environment that leads there, and the paths that were asked for."""
    version = {"/version": (line({"ApiVersion": "1.41", "Version": "20.10"}), b"")}
    with _Server({**version, **script}) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield {"DOCKER_HOST": f"tcp://127.0.0.1:{server.server_port}"}, server.asked
        finally:
            server.shutdown()
            thread.join()

"""A publisher of archives on loopback, with the faults of real ones."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from tests.fakes.loopback_server import LoopbackServer


class Publisher(LoopbackServer):
    """Serves files by path.

    Attributes:
        files: Content by path, without the first slash.
        asked: Path, and the first byte that was asked for, of each request.
        cuts: Number of the next connections that break in the middle.
        moved: Whether it redirects to another path first.
        delay: Seconds between two pieces of a file.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, int]] = []
        self.cuts = 0
        self.moved = False
        self.delay = 0.0

    @property
    def address(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    server: Publisher

    def do_GET(self) -> None:
        path = self.path.lstrip("/")
        if self.server.moved and not path.startswith("moved/"):
            self.send_response(302)
            self.send_header("Location", f"{self.server.address}moved/{path}")
            self.end_headers()
            return
        path = path.removeprefix("moved/")
        start = int((self.headers.get("Range") or "bytes=0-")[6:-1])
        self.server.asked.append((path, start))
        if path not in self.server.files:
            self.send_error(404)
            return
        body = self.server.files[path][start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.server.cuts:
            self.server.cuts -= 1
            body = body[: len(body) // 2]
        size = max(len(body) // 8, 1)
        for at in range(0, len(body), size):
            self.wfile.write(body[at : at + size])
            time.sleep(self.server.delay)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class names it
        """Say nothing."""


@contextmanager
def publisher() -> Iterator[Publisher]:
    """A publisher without files, while the block runs."""
    made = Publisher()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        made.shutdown()
        thread.join()
        made.server_close()

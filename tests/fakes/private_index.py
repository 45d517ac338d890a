"""A package index on loopback that answers only with user and password, and remembers what it was sent."""

from __future__ import annotations

import base64
import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

USER, PASSWORD = "me", "p@ss:word"
LOGIN = "me:p%40ss%3Aword"
FILE = "tinypkg-1.0-cp38-cp38-manylinux2014_x86_64.whl"


def wheel() -> bytes:
    """Return a wheel without any module."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        info = "tinypkg-1.0.dist-info"
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tinypkg\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: cp38-cp38-manylinux2014_x86_64\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return made.getvalue()


class Server(ThreadingHTTPServer):
    """One origin.

    Attributes:
        content: The wheel.
        protected: Whether user and password are demanded.
        redirect: Where files are; empty when they are here.
        seen: Path and `Authorization` of each request.
    """

    daemon_threads = True

    def __init__(self, *, protected: bool, redirect: str = "") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.content = wheel()
        self.protected = protected
        self.redirect = redirect
        self.seen: list[tuple[str, str]] = []

    @property
    def address(self) -> str:
        """Address of the origin."""
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def with_login(self) -> str:
        """Address of the origin with user and password."""
        return f"http://{LOGIN}@127.0.0.1:{self.server_port}"

    @property
    def sha256(self) -> str:
        """Digest of the wheel."""
        return hashlib.sha256(self.content).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        sent = self.headers.get("Authorization", "")
        self.server.seen.append((self.path, sent))
        expected = f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"
        if self.server.protected and sent != expected:
            self._answer(401, b"", ("WWW-Authenticate", "Basic"))
        elif self.path == "/simple/tinypkg/":
            link = f'<a href="../../files/{FILE}#sha256={self.server.sha256}">{FILE}</a>'
            self._answer(200, link.encode(), ("Content-Type", "text/html"))
        elif self.path != f"/files/{FILE}":
            self._answer(404, b"")
        elif self.server.redirect:
            self._answer(302, b"", ("Location", f"{self.server.redirect}{self.path}"))
        else:
            self._answer(200, self.server.content)

    def do_HEAD(self) -> None:
        self.do_GET()

    def _answer(self, status: int, content: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(content)))):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class names it
        """Say nothing."""


@contextmanager
def serving(*, protected: bool, redirect: str = "") -> Iterator[Server]:
    """Serve an index for the time of a block."""
    server = Server(protected=protected, redirect=redirect)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

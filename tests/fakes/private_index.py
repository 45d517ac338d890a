"""A package index on loopback that answers only with user and password, and remembers what it was sent."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from tests.fakes.loopback_server import LoopbackServer

USER, PASSWORD = "me", "p@ss:word"
LOGIN = "me:p%40ss%3Aword"
_PAGE = "application/vnd.pypi.simple.v1+json"
_UPLOADED = "2020-01-01T00:00:00Z"
FILE = "tinypkg-1.0-cp38-cp38-manylinux2014_x86_64.whl"


def wheel(name: str = FILE) -> bytes:
    """Return a wheel with one file and no module."""
    made = io.BytesIO()
    project, version, tag = name.removesuffix(".whl").split("-", 2)
    with zipfile.ZipFile(made, "w") as archive:
        info = f"{project}-{version}.dist-info"
        files = {
            f"{project}/data.txt": b"data\n",
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n".encode(),
            f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n".encode(),
        }
        for path, content in files.items():
            archive.writestr(path, content)
        lines = [f"{path},{_digest(content)},{len(content)}" for path, content in files.items()]
        archive.writestr(f"{info}/RECORD", "\n".join((*lines, f"{info}/RECORD,,", "")))
    return made.getvalue()


def _digest(content: bytes) -> str:
    return f"sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()}"


class Server(LoopbackServer):
    """One origin.

    Attributes:
        files: Wheels by name.
        protected: Whether user and password are demanded.
        password: The one that is demanded.
        redirect: Where files are; empty when they are here.
        seen: Path and `Authorization` of each request.
    """

    def __init__(self, *, protected: bool, redirect: str = "") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {FILE: wheel()}
        self.protected = protected
        self.password = PASSWORD
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
        """Digest of `FILE`."""
        return hashlib.sha256(self.files[FILE]).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        sent = self.headers.get("Authorization", "")
        self.server.seen.append((self.path, sent))
        expected = f"Basic {base64.b64encode(f'{USER}:{self.server.password}'.encode()).decode()}"
        if self.server.protected and sent != expected:
            self._answer(401, b"", ("WWW-Authenticate", "Basic"))
        elif self.path.startswith("/simple/"):
            self._page(self.path.split("/")[2].replace("-", "_"))
        elif self.path.removeprefix("/files/") not in self.server.files:
            self._answer(404, b"")
        elif self.server.redirect:
            self._answer(302, b"", ("Location", f"{self.server.redirect}{self.path}"))
        else:
            self._answer(200, self.server.files[self.path.removeprefix("/files/")])

    def _page(self, project: str) -> None:
        listed = [
            {
                "filename": name,
                "url": f"../../files/{name}",
                "hashes": {"sha256": hashlib.sha256(content).hexdigest()},
                "upload-time": _UPLOADED,
            }
            for name, content in self.server.files.items()
            if name.startswith(f"{project}-")
        ]
        page = {"meta": {"api-version": "1.1"}, "name": project, "versions": [], "files": listed}
        self._answer(200 if listed else 404, json.dumps(page).encode(), ("Content-Type", _PAGE))

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

"""A package index on the loopback interface that can be told to serve a file wrongly."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from pathlib import Path

_WHEEL = "application/octet-stream"
Fault = Callable[[int, bytes], tuple[HTTPStatus, bytes, bytes]]
"""From the number of the request for the file (from 0) and its content: status, what is announced, what is sent."""


def good(_request: int, content: bytes) -> tuple[HTTPStatus, bytes, bytes]:
    """The file as it is."""
    return HTTPStatus.OK, content, content


def corrupted(_request: int, content: bytes) -> tuple[HTTPStatus, bytes, bytes]:
    """As many bytes, one of them another."""
    middle = len(content) // 2
    wrong = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    return HTTPStatus.OK, wrong, wrong


def truncated(_request: int, content: bytes) -> tuple[HTTPStatus, bytes, bytes]:
    """The connection ends in the middle, every time."""
    return HTTPStatus.OK, content, content[: len(content) // 2]


def first(status: HTTPStatus) -> Fault:
    """One refusal, then the file."""

    def fault(request: int, content: bytes) -> tuple[HTTPStatus, bytes, bytes]:
        return good(request, content) if request else (status, b"", b"")

    return fault


def first_wrong(wrong: Fault) -> Fault:
    """Wrong once, then the file."""

    def fault(request: int, content: bytes) -> tuple[HTTPStatus, bytes, bytes]:
        return good(request, content) if request else wrong(request, content)

    return fault


@dataclass(slots=True, kw_only=True)
class FaultyIndex:
    """What a running index was asked.

    Attributes:
        address: Of its pages (PEP 503).
        asked: Number of requests for the content of each file.
        held: Set as soon as half of a wheel was sent, when the index was told to hold.
        go_on: Lets it send the rest.
    """

    address: str
    asked: dict[str, int] = field(default_factory=dict)
    held: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)

    def send(self, content: bytes, to: BufferedIOBase, *, may_hold: bool) -> None:
        """Send a body, and hold in its middle when that was asked for."""
        half = len(content) // 2
        to.write(content[:half])
        if may_hold and not self.go_on.is_set():
            self.held.set()
            self.go_on.wait()
        # Who was killed meanwhile does not read the rest.
        with suppress(BrokenPipeError, ConnectionResetError):
            to.write(content[half:])


@contextmanager
def serve(wheels: Mapping[str, bytes], fault: Fault, *, hold: bool = False) -> Iterator[FaultyIndex]:
    """Run an index of some wheels; pages and metadata are right, the wheels are served with the fault.

    Args:
        wheels: Content by name.
        fault: What is wrong.
        hold: Send the second half of a wheel only after `go_on`.
    """
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(wheels, fault)) as server:
        index = FaultyIndex(address=f"http://127.0.0.1:{server.server_address[1]}/simple")
        if not hold:
            index.go_on.set()
        server.index = index  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield index
        finally:
            server.shutdown()
            thread.join()


def metadata_of(wheel: Path) -> bytes:
    """The METADATA file of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA")))


def _handler(wheels: Mapping[str, bytes], fault: Fault) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name is http.server's
            name = self.path.rstrip("/").rsplit("/", 1)[-1]
            if self.path.startswith("/simple/"):
                self._page(name)
            elif name.endswith(".metadata"):
                content = wheels[name]
                self._send(HTTPStatus.OK, content, content, kind="text/plain")
            else:
                index: FaultyIndex = self.server.index  # type: ignore[attr-defined]
                request = index.asked.get(name, 0)
                index.asked[name] = request + 1
                self._send(*fault(request, wheels[name]))

        def _page(self, package: str) -> None:
            links = "".join(
                f'<a href="/files/{name}#sha256={hashlib.sha256(content).hexdigest()}"'
                f' data-dist-info-metadata="true">{name}</a>\n'
                for name, content in wheels.items()
                if name.endswith(".whl") and name.split("-")[0].replace("_", "-").lower() == package
            )
            status = HTTPStatus.OK if links else HTTPStatus.NOT_FOUND
            page = f"<!DOCTYPE html><html><body>\n{links}</body></html>".encode()
            self._send(status, page, page, kind="text/html")

        def _send(self, status: HTTPStatus, announced: bytes, sent: bytes, kind: str = _WHEEL) -> None:
            index: FaultyIndex = self.server.index  # type: ignore[attr-defined]
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(announced)))
            if status == HTTPStatus.TOO_MANY_REQUESTS:
                self.send_header("Retry-After", "1")
            self.end_headers()
            index.send(sent, self.wfile, may_hold=kind == _WHEEL)
            # What is missing of a truncated file must not come from the next answer.
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002, ARG002  as http.server has it
            return

    return Handler

"""A registry on loopback that serves blobs, answers ranges, waits before each answer, and counts."""

from __future__ import annotations

import http.server
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

_BOUNDARY = "part"
_RANGE = re.compile(r"(\d+)-(\d*)")

Part: TypeAlias = tuple[int, int]
"""Start and size of a part of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Requests for a blob, and the bytes of it that were sent."""

    requests: int = 0
    sent: int = 0


@dataclass(kw_only=True)
class Registry:
    """What a registry serves, and what it has answered.

    Attributes:
        blobs: Directory with files named by the hexadecimal digits of their sha256.
        delay: Seconds between a request and the first byte of its answer.
    """

    blobs: Path
    delay: float
    _seen: dict[str, Seen] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, digest: str, size: int) -> None:
        """Count a request."""
        with self._lock:
            before = self._seen.get(digest, Seen())
            self._seen[digest] = Seen(requests=before.requests + 1, sent=before.sent + size)

    def seen(self) -> dict[str, Seen]:
        """Return what was answered so far, by digest."""
        with self._lock:
            return dict(self._seen)


@contextmanager
def serving(registry: Registry) -> Iterator[int]:
    """Serve blobs while the block runs; yield the port."""

    class Handler(_Handler):
        served = registry

    with _Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Ignore clients that close their connections."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: Registry

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def _answer(self) -> None:
        time.sleep(self.served.delay)
        digest = self.path.rpartition("/")[2]
        file = self.served.blobs / digest.removeprefix("sha256:")
        if not file.is_file():
            self.send_error(404)
            return
        size = file.stat().st_size
        parts = requested(self.headers.get("Range", ""), size)
        headers, pieces = content(parts, size)
        sizes = [len(piece) if isinstance(piece, bytes) else piece[1] for piece in pieces]
        is_sent = self.command == "GET"
        self.served.add(digest, sum(each for _, each in (parts or [(0, size)])) if is_sent else 0)
        self.send_response(206 if parts else 200)
        for name, value in (*headers, ("Content-Length", str(sum(sizes)))):
            self.send_header(name, value)
        self.end_headers()
        if is_sent:
            self._send(file, pieces)

    def _send(self, file: Path, pieces: Sequence[bytes | Part]) -> None:
        with file.open("rb") as stream:
            for piece in pieces:
                if isinstance(piece, bytes):
                    self.wfile.write(piece)
                else:
                    stream.seek(piece[0])
                    self.wfile.write(stream.read(piece[1]))


def requested(header: str, size: int) -> list[Part]:
    """Return the parts of a file that a request asks for; empty for the whole file.

    Example:
        >>> requested("bytes=0-1,5-", 8)
        [(0, 2), (5, 3)]
    """
    ends = [(int(first), min(int(last or size), size - 1)) for first, last in _RANGE.findall(header)]
    return [(first, last - first + 1) for first, last in ends]


def content(parts: Sequence[Part], size: int) -> tuple[list[tuple[str, str]], list[bytes | Part]]:
    """Return headers and content of an answer: bytes, and parts of the file.

    Source: https://www.rfc-editor.org/rfc/rfc9110#name-media-type-multipart-byteran
    """
    texts = [f"bytes {start}-{start + length - 1}/{size}" for start, length in parts]
    if len(parts) > 1:
        pieces: list[bytes | Part] = []
        for text, part in zip(texts, parts, strict=True):
            pieces += [f"\r\n--{_BOUNDARY}\r\nContent-Range: {text}\r\n\r\n".encode(), part]
        kind = f"multipart/byteranges; boundary={_BOUNDARY}"
        return [("Content-Type", kind)], [*pieces, f"\r\n--{_BOUNDARY}--\r\n".encode()]
    headers = [("Content-Type", "application/octet-stream"), *(("Content-Range", text) for text in texts)]
    return headers, [*(parts or [(0, size)])]

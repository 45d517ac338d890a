"""A proxy on the loopback interface that passes on no more than a number of bytes per second, over all connections.

It makes downloads comparable with figures that were measured where the network was slower. Its own work, about a second
of processor time for each two gigabytes, is done beside what is measured.
"""

from __future__ import annotations

import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_PIECE = 256 << 10
_LONGEST_HEAD = 16 << 10
_SECONDS_TO_CONNECT = 20.0


class Pace:
    """A limit of bytes per second; thread-safe. What is not used in a moment is lost.

    Args:
        rate: Bytes per second.
        clock: Returns seconds, monotonic.
        pause: Sleeps.
    """

    def __init__(
        self,
        rate: float,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate = rate
        self._clock = clock
        self._pause = pause
        self._free = 0.0
        self._lock = threading.Lock()

    def take(self, count: int) -> None:
        """Wait until this many bytes may be passed on."""
        with self._lock:
            self._free = max(self._free, self._clock()) + count / self._rate
            wait = self._free - self._clock()
        if wait > 0:
            self._pause(wait)


@contextmanager
def paced_proxy(rate: float) -> Iterator[str]:
    """Run a proxy for `CONNECT` while the block runs; yield its address, for `HTTPS_PROXY`.

    Args:
        rate: Bytes per second that clients receive, in all.
    """
    pace = Pace(rate)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with (
                suppress(OSError, ValueError),
                socket.create_connection(_target(self.request), _SECONDS_TO_CONNECT) as server,
            ):
                server.settimeout(None)
                self.request.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=_relay, args=(self.request, server, lambda _count: None), daemon=True)
                back.start()
                _relay(server, self.request, pace.take)
                back.join()

    with _Server(("127.0.0.1", 0), Handler) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{proxy.server_address[1]}"
        finally:
            proxy.shutdown()
            thread.join()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False


def _target(client: socket.socket) -> tuple[str, int]:
    """Read the head of a request; return host and port of its `CONNECT`."""
    head = b""
    while not head.endswith(b"\r\n\r\n") and len(head) < _LONGEST_HEAD:
        head += client.recv(1) or _ended()
    method, place, _ = head.decode("ascii").split(maxsplit=2)
    host, _, port = place.rpartition(":")
    if method != "CONNECT":
        raise ValueError(method)
    return host, int(port)


def _ended() -> bytes:
    raise ConnectionError


def _relay(source: socket.socket, sink: socket.socket, pace: Callable[[int], None]) -> None:
    with suppress(OSError):
        while piece := source.recv(_PIECE):
            pace(len(piece))
            sink.sendall(piece)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)

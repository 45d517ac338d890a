"""A server on loopback whose clients may leave at any time."""

from __future__ import annotations

import sys
from http.server import ThreadingHTTPServer
from socket import socket


class LoopbackServer(ThreadingHTTPServer):
    """Does not report connections that its client has closed: the test that runs by then would take that for output."""

    daemon_threads = True

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: object) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

"""Connections that give up on a server whose head of an answer does not end.

The timeout of a socket begins anew with every byte: without a limit for the whole head a server that sends one byte a
minute keeps a client for days.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from urllib3 import HTTPConnectionPool, HTTPResponse, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection


@contextmanager
def _watched(connection: HTTPConnection) -> Iterator[None]:
    """Shut a connection down when the block takes longer than its timeout.

    Raises:
        TimeoutError: It took longer.
    """
    ended = threading.Event()

    def end() -> None:
        ended.set()
        with suppress(OSError):
            opened.shutdown(socket.SHUT_RDWR)

    opened, limit = connection.sock, connection.timeout
    if opened is None or not isinstance(limit, int | float):
        yield
        return
    timer = threading.Timer(limit, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if ended.is_set():  # a head that ends early is taken for a whole one
            raise TimeoutError


class _Plain(HTTPConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # as urllib3 itself does
        with _watched(self):
            return super().getresponse()


class _Secure(HTTPSConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # as urllib3 itself does
        with _watched(self):
            return super().getresponse()


class PlainPool(HTTPConnectionPool):
    """Connections by http."""

    ConnectionCls = _Plain


class SecurePool(HTTPSConnectionPool):
    """Connections by https."""

    ConnectionCls = _Secure


POOLS: dict[str, type[HTTPConnectionPool]] = {"http": PlainPool, "https": SecurePool}
"""Classes of the pools, by scheme."""

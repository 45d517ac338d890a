"""Connection pools, direct or through a proxy, whose connections have a time limit for the head of a response.

The timeout of a socket restarts with every byte: without a limit for the whole head, a server that sends one byte per
minute blocks a client for days.
"""

from __future__ import annotations

import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import client
from urllib.parse import unquote

import urllib3
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager, ProxyManager
from urllib3.connection import HTTPConnection, HTTPSConnection

from envbuilder.core.errors import UsageError
from envbuilder.core.files import CHUNK
from envbuilder.core.http.limits import SECONDS

_AT_ONCE = 64 << 10
"""Bytes that are collected; more of them leave the cache of the processor before they are digested and written."""

_CONNECTIONS = 16
"""Number of connections kept, so that hundreds of files need one name lookup and one handshake.

Without them, sixteen simultaneous downloads look up the same name so often that resolvers drop requests, each of which
costs five seconds (measured 2026-11: 107 small files in 20 s, with kept connections in 0.2 s).
"""


@contextmanager
def _watched(opened: socket.socket, limit: float) -> Iterator[None]:
    """Shut a connection down if the block exceeds a limit in seconds.

    Raises:
        TimeoutError: The limit was exceeded.
    """
    ended = threading.Event()

    def end() -> None:
        ended.set()
        with suppress(OSError):
            opened.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(limit, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if ended.is_set():  # http.client takes a truncated head for a complete one
            raise TimeoutError


class WatchedResponse(client.HTTPResponse):
    """A response with a time limit for its head from the first byte on; until then, the socket's timeout applies.

    Attributes:
        most: Seconds from the first byte of the head to its last one, and between two reads of the body.
    """

    most = SECONDS

    def __init__(self, sock: socket.socket, debuglevel: int = 0, method: str | None = None) -> None:
        super().__init__(sock, debuglevel, method)
        self._opened = sock

    def begin(self) -> None:
        """Read the head.

        Raises:
            TimeoutError: It does not begin or end in time.
        """
        self.fp.peek(1)
        limit = self._opened.gettimeout()
        if limit is None:
            super().begin()
            return
        # The longer timeout until the first byte does not apply between later bytes.
        limit = min(limit, self.most)
        self._opened.settimeout(limit)
        with _watched(self._opened, limit):
            super().begin()

    def read1(self, n: int = -1) -> bytes:
        """Return the next bytes of the body, at most `n`, after one wait: what else has arrived by then is added.

        A record of TLS has 16 KiB: passing on each by itself takes much of the time of decrypting it.
        """
        pieces = [super().read1(n)]
        left = min(n, _AT_ONCE) - len(pieces[0])
        while left > 0 and pieces[-1] and self._has_more():
            pieces.append(super().read1(left))
            left -= len(pieces[-1])
        return b"".join(pieces)

    def _has_more(self) -> bool:
        """Return True if bytes can be read without a wait."""
        if self.fp is None or self.chunked:
            return False
        waiting = select.poll()
        waiting.register(self._opened, select.POLLIN)
        return bool(waiting.poll(0))


class PlainConnection(HTTPConnection):
    """Connection by http."""

    response_class = WatchedResponse


class SecureConnection(HTTPSConnection):
    """Connection by https."""

    response_class = WatchedResponse


class PlainPool(HTTPConnectionPool):
    """Connection pool for http."""

    ConnectionCls = PlainConnection


class SecurePool(HTTPSConnectionPool):
    """Connection pool for https."""

    ConnectionCls = SecureConnection


def opened_pool(proxy: str, context: ssl.SSLContext | None) -> PoolManager | ProxyManager:
    """Return a pool for a proxy; for direct connections if it is empty.

    Raises:
        UsageError: The proxy's address is invalid.
    """
    pool: PoolManager | ProxyManager
    if not proxy:
        pool = urllib3.PoolManager(maxsize=_CONNECTIONS, ssl_context=context, blocksize=CHUNK)
        pool.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}
        return pool
    try:
        parts = urllib3.util.parse_url(proxy)
        login = urllib3.make_headers(proxy_basic_auth=unquote(parts.auth)) if parts.auth else None
        pool = urllib3.ProxyManager(
            parts._replace(auth=None).url,
            proxy_headers=login,
            maxsize=_CONNECTIONS,
            ssl_context=context,
            blocksize=CHUNK,
        )
    except (urllib3.exceptions.HTTPError, ValueError):  # the address may contain a password
        raise UsageError(
            "the proxy in the environment variables is invalid", hint="set HTTPS_PROXY to http://HOST:PORT"
        ) from None
    pool.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}
    return pool

"""Connections are used again where that is possible, and errors hold no address."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from envbuilder.core.http.client import Client
from envbuilder.core.http.failures import BadAddress
from envbuilder.core.http.limits import LEAST, WINDOW


@contextmanager
def serving(body: bytes) -> Iterator[tuple[str, list[object]]]:
    """Yield the address of a server, and the connections that it was asked through."""
    seen: list[object] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            seen.append(self.client_address)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", seen
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(("length", "connections"), [(0, 1), (1000, 1), (1 << 22, 2)])
def test_a_connection_is_used_again_unless_much_of_the_body_was_left(length: int, connections: int) -> None:
    with serving(bytes(length)) as (address, seen):
        client = Client({})
        for _ in range(2):
            client.send("GET", address, {}).close()
        client.close()
    assert len(set(seen)) == connections


def test_a_rest_that_is_not_wanted_is_not_read() -> None:
    with serving(bytes(1000)) as (address, seen):
        client = Client({})
        for _ in range(2):
            client.send("GET", address, {}).close(keep=False)
        client.close()
    assert len(set(seen)) == 2


def test_a_rest_that_comes_too_slowly_is_not_waited_for() -> None:
    with serving(bytes(LEAST)) as (address, _):
        response = Client({}, clock=itertools.count(step=WINDOW).__next__).send("GET", address, {})
        response.close()


@pytest.mark.parametrize("url", ["http://[/x", "http://127.0.0.1:99999/x", f"http://{'a' * 70}.example/x"])
def test_an_address_that_is_none_is_told_as_that(url: str) -> None:
    with pytest.raises(BadAddress, match=r"^its address cannot be used$"):
        Client({}).send("GET", url, {})

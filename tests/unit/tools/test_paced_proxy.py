"""The proxy of the benchmark passes everything on, at its pace."""

from __future__ import annotations

import socket
import threading

import pytest

from tools.bench.paced_proxy import Pace, paced_proxy


def test_bytes_wait_for_those_before_them_and_a_pause_is_not_caught_up() -> None:
    now, pauses = [0.0], list[float]()
    pace = Pace(100.0, clock=lambda: now[0], pause=pauses.append)
    pace.take(50)
    pace.take(50)
    now[0] = 10.0
    pace.take(100)
    assert pauses == [0.5, 1.0, 1.0]


def test_a_tunnel_carries_both_directions() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, paced_proxy(1e9) as proxy:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(connection.recv(100).upper() * 100_000)

        threading.Thread(target=answer, daemon=True).start()
        port = int(proxy.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as client, client.makefile("rb") as answered:
            client.sendall(f"CONNECT 127.0.0.1:{server.getsockname()[1]} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert answered.readline() == b"HTTP/1.1 200 Connection established\r\n"
            assert answered.readline() == b"\r\n"
            client.sendall(b"hello")
            assert answered.read() == b"HELLO" * 100_000


@pytest.mark.parametrize("head", [b"GET / HTTP/1.1\r\n\r\n", b"CONNECT nothing\r\n\r\n", b""])
def test_another_request_is_closed(head: bytes) -> None:
    with paced_proxy(1e9) as proxy, socket.create_connection(("127.0.0.1", int(proxy.rpartition(":")[2]))) as client:
        client.sendall(head)
        client.shutdown(socket.SHUT_WR)
        assert client.recv(100) == b""

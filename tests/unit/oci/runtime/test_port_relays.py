"""Ports of this host, forwarded to servers on the loopback interface."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from envbuilder.core.errors import UsageError
from envbuilder.oci.runtime.command import PublishedPort
from envbuilder.oci.runtime.port_relays import Connector, connect_on_host, on_shared_network, relayed


def published(host: int, container: int, address: str = "127.0.0.1") -> PublishedPort:
    return PublishedPort(address=address, host=host, container=container)


def free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture
def server() -> Iterator[int]:
    """A server that gives everything back in capitals after its client has ended; yields its port."""

    def serve() -> None:
        with suppress(OSError):  # the test has ended
            while True:
                client, _ = listener.accept()
                with client, client.makefile("rb") as stream:
                    client.sendall(stream.read().upper())

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def asked(port: int, said: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as client, client.makefile("rb") as stream:
        client.sendall(said)
        client.shutdown(socket.SHUT_WR)
        return stream.read()


def test_both_directions_are_passed_on_to_their_ends(server: int) -> None:
    port = free()
    with relayed((published(port, server),), connect_on_host):
        assert asked(port, b"a" * 1_000_000) == b"A" * 1_000_000
        assert asked(port, b"again") == b"AGAIN"
    with pytest.raises(ConnectionRefusedError):
        asked(port, b"later")


def test_a_client_of_a_command_that_does_not_listen_sees_its_connection_closed() -> None:
    port = free()
    with relayed((published(port, free()),), connect_on_host):
        assert asked(port, b"") == b""


def test_a_port_in_use_is_refused_with_another(server: int) -> None:
    with (
        pytest.raises(UsageError, match=f"port {server} of this host cannot be used at 127") as refusal,
        relayed((published(server, 80),), connect_on_host),
    ):
        pass
    assert f"-p {server + 1}:80" in refusal.value.hint


def test_an_address_of_another_machine_is_refused() -> None:
    with (
        pytest.raises(UsageError, match=r"cannot be used at 192\.0\.2\.1"),
        relayed((published(free(), 80, "192.0.2.1"),), connect_on_host),
    ):
        pass


def test_on_a_shared_network_the_same_port_is_that_of_the_command() -> None:
    other = published(8080, 80, "0.0.0.0")  # noqa: S104
    assert on_shared_network((published(80, 80), published(80, 80, "::1"), other)) == (other,)
    with pytest.raises(UsageError, match="the same port is its own") as refusal:
        on_shared_network((published(80, 80, "::"),))
    assert "-p [::]:81:80" in refusal.value.hint


def test_a_process_in_another_network_makes_the_connections(server: int) -> None:
    """The other side is `container_init.py`; here a thread answers as it does."""
    near, far = socket.socketpair()

    def answer() -> None:
        for wanted in (server, 1):
            port = int.from_bytes(far.recv(2), "big")
            assert port == wanted
            if port == server:
                with socket.create_connection(("127.0.0.1", port)) as connection:
                    socket.send_fds(far, [b"c"], [connection.fileno()])
            else:
                far.send(b"-")

    thread = threading.Thread(target=answer)
    thread.start()
    with near, far:
        connect = Connector(near)
        with connect(server) as connection, connection.makefile("rb") as stream:
            connection.sendall(b"x")
            connection.shutdown(socket.SHUT_WR)
            assert stream.read() == b"X"
        with pytest.raises(ConnectionRefusedError, match="nothing listens on port 1 of the command"):
            connect(1)
        thread.join()

"""Forwarding of TCP ports of this host to a command."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TypeAlias

from envbuilder.core.errors import UsageError
from envbuilder.oci.runtime.command import PublishedPort, bracketed

Connect: TypeAlias = Callable[[int], socket.socket]
"""Returns a connection to a port of the command; raises OSError if nothing listens there."""

LOOPBACK = "127.0.0.1"
_PIECE = 1 << 16
_LAST_PORT = 65535


def on_shared_network(ports: Sequence[PublishedPort]) -> tuple[PublishedPort, ...]:
    """Return the ports that need forwarding if the command uses the network of this host.

    A port with the same number on the loopback interface needs none: a server that listens there is reached directly.

    Raises:
        UsageError: A port has the same number on another interface, where a relay would take it from the command.
    """
    for port in ports:
        if port.host == port.container and not ipaddress.ip_address(port.address).is_loopback:
            raise UsageError(
                f"port {port.container} cannot be published at {bracketed(port.address)}:{port.host}: the command uses "
                "the network of this host, where the same port is its own",
                hint=f"use another number: -p {bracketed(port.address)}:{_beside(port.host)}:{port.container}",
            )
    return tuple(port for port in ports if port.host != port.container)


def connect_on_host(port: int) -> socket.socket:
    """Return a connection to a server on this host; errors as in `Connect`."""
    return socket.create_connection((LOOPBACK, port))


class Connector:
    """Connections to a command in a network namespace, made by the process that entered it.

    Args:
        control: Socket to that process, which answers each port (two bytes) with a connection, or with none.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._one_at_a_time = threading.Lock()

    def __call__(self, port: int) -> socket.socket:
        """Return a connection; errors as in `Connect`."""
        with self._one_at_a_time:
            self._control.sendall(port.to_bytes(2, "big"))
            _, files, _, _ = socket.recv_fds(self._control, 1, 1, socket.MSG_CMSG_CLOEXEC)
        if not files:
            raise ConnectionRefusedError(f"nothing listens on port {port} of the command")
        return socket.socket(fileno=files[0])


@contextmanager
def relayed(ports: Sequence[PublishedPort], connect: Connect) -> Iterator[None]:
    """Forward ports while the block runs.

    Raises:
        UsageError: A port of this host is not available.
    """
    with ExitStack() as stack:
        for port in ports:
            listener = stack.enter_context(listening(port))
            threading.Thread(target=_serve, args=(listener, port.container, connect), daemon=True).start()
            # A thread that waits in accept() is woken by a shutdown, and not by a close.
            stack.callback(_shut, listener)
        yield


def listening(port: PublishedPort, hint: str = "") -> socket.socket:
    """Return a socket that listens at a port of this host.

    Args:
        port: Its `container` is only for the hint.
        hint: Hint of the error; empty for one that names another port.

    Raises:
        UsageError: The port is not available.
    """
    family = socket.AF_INET6 if ":" in port.address else socket.AF_INET
    try:
        return socket.create_server((port.address, port.host), family=family)
    except OSError as error:
        another = f"use another port: -p {_beside(port.host)}:{port.container}"
        raise UsageError(
            f"port {port.host} of this host cannot be used at {port.address}: {os.strerror(error.errno or 0)}",
            hint=hint or (another if error.errno == errno.EADDRINUSE else "use another address or port"),
        ) from error


def _beside(port: int) -> int:
    return port + 1 if port < _LAST_PORT else port - 1


def _serve(listener: socket.socket, port: int, connect: Connect) -> None:
    with suppress(OSError):  # the listener was shut down
        while True:
            near, _ = listener.accept()
            threading.Thread(target=_join, args=(near, port, connect), daemon=True).start()


def _join(near: socket.socket, port: int, connect: Connect) -> None:
    """Connect a client with the command; without a server there, the client sees its connection closed."""
    with near:
        try:
            far = connect(port)
        except OSError:
            return
        with far:
            back = threading.Thread(target=_copy, args=(far, near), daemon=True)
            back.start()
            _copy(near, far)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copy everything until the source ends, then end the target in this direction."""
    with suppress(OSError):
        while piece := source.recv(_PIECE):
            target.sendall(piece)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _shut(listener: socket.socket) -> None:
    with suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)

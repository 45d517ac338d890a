"""Servers that run in an image for its user: JupyterLab and TensorBoard."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from envbuilder.oci.runtime.command import PublishedPort, bracketed
from envbuilder.oci.runtime.port_relays import listening

LOOPBACK = "127.0.0.1"
_EVERYWHERE = "0.0.0.0"  # noqa: S104  of a container with a network of its own, whose port is published on loopback only
_PAUSE = 0.25
_SECONDS_TO_ANSWER = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server to start in an image.

    Attributes:
        profile: Profile that has its packages.
        env: Environment variables, sorted by name.
        published: TCP port at which this host reaches it.
        own_network: Whether its container has a network of its own, and not that of this host.
        path: Path and query of the page that the user opens; may hold a secret.
    """

    title: str
    profile: str
    command: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    published: PublishedPort
    own_network: bool
    path: str = "/"

    @property
    def forwarded(self) -> tuple[str, ...]:
        """Ports to forward, as typed: none if the server itself listens at the port of this host."""
        port = self.published
        return (f"{bracketed(port.address)}:{port.host}:{port.container}",) if self.own_network else ()

    @property
    def host(self) -> str:
        """IP address at which this host reaches it: on loopback if it listens at all addresses."""
        address = ipaddress.ip_address(self.published.address)
        if not address.is_unspecified:
            return self.published.address
        return LOOPBACK if address.version == 4 else "::1"

    @property
    def address(self) -> str:
        """Address of the page that the user opens."""
        return f"http://{bracketed(self.host)}:{self.published.host}{self.path}"

    def forwarding(self, environ: Mapping[str, str]) -> str:
        """Return the command that makes the address valid on the machine of an SSH login; empty if this is none.

        It is empty, too, if the server listens at one address of the network, which other machines may reach.

        Args:
            environ: Environment variables of this process; sshd sets `SSH_CONNECTION`.

        Source: https://man.openbsd.org/ssh#SSH_CONNECTION
        """
        if not (environ.get("SSH_CONNECTION") and ipaddress.ip_address(self.host).is_loopback):
            return ""
        return f"ssh -N -L {self.published.host}:{bracketed(self.host)}:{self.published.host} HOST"


def jupyter(published: PublishedPort, token: str, *, own_network: bool) -> Server:
    """Return JupyterLab, for the current directory of the container.

    The token is in the environment of the server, since every user of the machine can read command lines. If the port
    is taken meanwhile the server ends, instead of taking another port that nobody knows.

    Args:
        published: TCP port at which this host reaches it.
        token: Secret that a browser has to send.
        own_network: Whether the container has a network of its own, and not that of this host.

    Source: https://jupyter-server.readthedocs.io/en/latest/operators/security.html and the traits `token` and
    `port_retries` of notebook 6.4 and jupyter_server 1.24 to 2.21 (read 2026-11-23).
    """
    address, port = _listening(published, own_network=own_network)
    return Server(
        title="JupyterLab",
        profile="jupyter",
        command=(
            "jupyter", "lab", f"--ip={address}", f"--port={port}", "--no-browser",
            # The option --log-level does not reach the extensions of the server.
            "--allow-root", "--Application.log_level=WARN",
        ),
        env=(("JUPYTER_PORT_RETRIES", "0"), ("JUPYTER_TOKEN", token)),
        published=published,
        own_network=own_network,
        path=f"/lab?token={token}",
    )  # fmt: skip


def tensorboard(published: PublishedPort, folder: str, *, own_network: bool) -> Server:
    """Return TensorBoard for a directory of the container; it has no password."""
    address, port = _listening(published, own_network=own_network)
    return Server(
        title="TensorBoard",
        profile="tensorboard",
        command=("tensorboard", f"--logdir={folder}", f"--host={address}", f"--port={port}"),
        published=published,
        own_network=own_network,
    )


def _listening(published: PublishedPort, *, own_network: bool) -> tuple[str, int]:
    """Return the address and port at which the server listens: of this host, unless it has a network of its own."""
    return (_EVERYWHERE, published.container) if own_network else (published.address, published.host)


def free_port() -> PublishedPort:
    """Return a TCP port that is free on the loopback interface now."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        number: int = listener.getsockname()[1]
        return PublishedPort(address=LOOPBACK, host=number, container=number)


def check_is_free(port: PublishedPort) -> None:
    """Raise UsageError if a server of this host cannot listen at a port of it."""
    listening(port, f"omit -p for a free port, or choose another one: -p {free_port().host}").close()


def wait_for(server: Server, ended: threading.Event) -> bool:
    """Wait until a server answers a request for its page.

    Returns:
        False if it ended before.
    """
    while not ended.is_set():
        if _answers(server):
            return True
        ended.wait(_PAUSE)
    return False


def _answers(server: Server) -> bool:
    """Return True if the page responds; proxies of this host are not used."""
    connection = http.client.HTTPConnection(server.host, server.published.host, timeout=_SECONDS_TO_ANSWER)
    try:
        connection.request("GET", server.path)
        # Jupyter answers a token with a redirection to the page without it.
        return connection.getresponse().status < http.client.BAD_REQUEST
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()

"""Servers that run in an image for its user: JupyterLab and TensorBoard."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass

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
        port: TCP port, in the container and on this host.
        path: Path and query of the page that the user opens; may hold a secret.
    """

    title: str
    profile: str
    command: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    port: int
    path: str = "/"

    @property
    def address(self) -> str:
        """Address of the page that the user opens."""
        return f"http://{LOOPBACK}:{self.port}{self.path}"

    def forwarding(self, environ: Mapping[str, str]) -> str:
        """Return the command that makes the address valid on the machine of an SSH login; empty if this is none.

        Args:
            environ: Environment variables of this process; sshd sets `SSH_CONNECTION`.

        Source: https://man.openbsd.org/ssh#SSH_CONNECTION
        """
        return f"ssh -N -L {self.port}:{LOOPBACK}:{self.port} HOST" if environ.get("SSH_CONNECTION") else ""


def jupyter(port: int, token: str, *, own_network: bool) -> Server:
    """Return JupyterLab, for the current directory of the container.

    The token is in the environment of the server, since every user of the machine can read command lines. If the port
    is taken meanwhile the server ends, instead of taking another port that nobody knows.

    Args:
        port: TCP port.
        token: Secret that a browser has to send.
        own_network: Whether the container has a network of its own, and not that of this host.

    Source: https://jupyter-server.readthedocs.io/en/latest/operators/security.html and the traits `token` and
    `port_retries` of notebook 6.4 and jupyter_server 1.24 to 2.21 (read 2026-11-23).
    """
    return Server(
        title="JupyterLab",
        profile="jupyter",
        command=(
            "jupyter", "lab", f"--ip={_address(own_network=own_network)}", f"--port={port}", "--no-browser",
            "--allow-root", "--log-level=WARN",
        ),
        env=(("JUPYTER_PORT_RETRIES", "0"), ("JUPYTER_TOKEN", token)),
        port=port,
        path=f"/lab?token={token}",
    )  # fmt: skip


def tensorboard(port: int, folder: str, *, own_network: bool) -> Server:
    """Return TensorBoard for a directory of the container; it has no password."""
    address = _address(own_network=own_network)
    return Server(
        title="TensorBoard",
        profile="tensorboard",
        command=("tensorboard", f"--logdir={folder}", f"--host={address}", f"--port={port}"),
        port=port,
    )


def _address(*, own_network: bool) -> str:
    return _EVERYWHERE if own_network else LOOPBACK


def free_port() -> int:
    """Return a TCP port that is free on the loopback interface now."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        number: int = listener.getsockname()[1]
        return number


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
    connection = http.client.HTTPConnection(LOOPBACK, server.port, timeout=_SECONDS_TO_ANSWER)
    try:
        connection.request("GET", server.path)
        # Jupyter answers a token with a redirection to the page without it.
        return connection.getresponse().status < http.client.BAD_REQUEST
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()

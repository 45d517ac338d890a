"""The request for a new container."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.oci.runtime.command import PublishedPort


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """A container to create; only values left empty come from the image.

    Attributes:
        name: Chosen by the caller, so that it can be removed even if the answer to the creation is lost.
        mounts: `(path on this host, path in the container)`, read-only.
        gpus: True if it gets all GPUs.
        devices: Names of CDI devices for it.
        shared: `(path on this host, path in the container)`, writable.
        folder: Working directory; empty means that of the image.
        ports: Published ports.
        stdin: Whether its standard input is open until the attached client closes it.
        terminal: Whether it has a terminal.
        unset: Variables of the image that it does not get.
        init: Whether process 1 is the init of the engine, which starts the command, passes signals on and reaps
            processes.
    """

    name: str
    image: str
    command: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    mounts: tuple[tuple[str, str], ...]
    user: str
    network: str
    gpus: bool
    devices: tuple[str, ...] = ()
    shared: tuple[tuple[str, str], ...] = ()
    folder: str = ""
    ports: tuple[PublishedPort, ...] = ()
    stdin: bool = False
    terminal: bool = False
    unset: tuple[str, ...] = ()
    init: bool = False

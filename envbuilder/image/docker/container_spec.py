"""A container as the engine is asked for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """A container to create; nothing in it comes from the image but what is left empty.

    Attributes:
        name: Chosen by the caller, so that it can be removed even when the answer to the creation is lost.
        mounts: `(path on this host, path in the container)`, read-only.
        gpus: Whether it gets all GPUs.
        devices: Names of CDI devices that it gets.
        shared: `(path on this host, path in the container)` that it can change.
        folder: Where the command starts; empty means where the image says.
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

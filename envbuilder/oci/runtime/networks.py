"""Networks of virtual machines on this host: linked network namespaces for sandboxes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from envbuilder.core.errors import ToolFailed
from envbuilder.core.json_fields import parsed, text, texts
from envbuilder.oci.runtime.network_init import address
from envbuilder.oci.runtime.sandbox import AdaptedSandbox, JoinedNetwork, Sandbox

INSIDE = Path(__file__).with_name("network_init.py")
_SECONDS_TO_END = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedNetworks:
    """Network namespaces, one for each host of a network.

    Attributes:
        joined: The namespaces in order; all equal if the hosts share one.
        shared: Why all hosts share one namespace; empty if each has its own.
    """

    joined: tuple[JoinedNetwork, ...]
    addresses: tuple[str, ...]
    shared: str = ""


def in_network(sandbox: Sandbox, network: JoinedNetwork, given: IO[bytes] | None = None) -> AdaptedSandbox:
    """Return a sandbox that runs every command in a network namespace; standard input is empty without a file."""
    return AdaptedSandbox(
        sandbox=sandbox, change=lambda task: replace(task, host_network=False, joined=network, given=given)
    )


@contextmanager
def linked_networks(count: int, program: Path = INSIDE) -> Iterator[LinkedNetworks]:
    """Make network namespaces of two or more hosts that reach each other, for the time of the block.

    If the kernel refuses several linked ones, all hosts share one namespace, and the reason is given.

    Raises:
        ToolFailed: The kernel refuses any network namespace.
    """
    with _kept(program, count) as (paths, accounts, refusal):
        if paths:
            joined = tuple(JoinedNetwork(network=path, accounts=accounts) for path in paths)
            yield LinkedNetworks(joined=joined, addresses=tuple(map(address, range(count))))
            return
    with _kept(program, 1) as (paths, accounts, no_network):
        if not paths:
            raise ToolFailed(
                f"the kernel refused a network namespace: {no_network}",
                hint="run as root, or enable user namespaces (sysctl user.max_user_namespaces)",
            )
        only = JoinedNetwork(network=paths[0], accounts=accounts)
        yield LinkedNetworks(joined=(only,) * count, addresses=("127.0.0.1",) * count, shared=refusal)


@contextmanager
def _kept(program: Path, count: int) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Return the paths of namespaces, the user namespace that owns them, and the reason if there are none."""
    process = subprocess.Popen(
        (sys.executable, "-I", "-S", str(program), str(count)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.defpath},
        start_new_session=True,
    )
    with process:
        try:
            yield _answer(process)
        finally:
            if process.stdin:
                process.stdin.close()
            try:
                process.wait(_SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()


def _answer(process: subprocess.Popen[bytes]) -> tuple[tuple[str, ...], str, str]:
    known = parsed(process.stdout.readline()) if process.stdout else None
    error = text(known, "error") or "the program that makes them ended"
    return texts(known, "networks"), text(known, "accounts"), error

"""Groups of nodes that are equal for the judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from envbuilder.catalog.machine import Host
from envbuilder.core.units import size


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGroup:
    """Nodes with the same GPUs, driver and processor features.

    Attributes:
        id: `g1` for the largest group, and so on.
        host: The machine, without a name and without properties that change while it runs.
        nodes: Names, sorted; at least one.
    """

    id: str
    host: Host
    nodes: tuple[str, ...]

    @property
    def description(self) -> str:
        """The machine in words, such as `8 x NVIDIA A100-SXM4-40GB, driver 550.54.15`."""
        return ", ".join((_gpus(self.host), *_others(self.host)))


def equal_part(host: Host) -> Host:
    """Return a machine with only the properties that decide where an image runs; two equal ones get equal verdicts."""
    gpus = host.gpus
    if gpus is not None:
        gpus = tuple(sorted((replace(gpu, free=None) for gpu in gpus), key=lambda gpu: (gpu.name, gpu.memory or 0)))
    return replace(host, name="", gpus=gpus, memory=None, shm=None, fma=None, glibc=None)


def grouped_nodes(hosts: Iterable[tuple[str, Host]]) -> tuple[NodeGroup, ...]:
    """Return groups of equal machines.

    Returns:
        Largest first; groups of one size in the order of their first node.
    """
    found: dict[Host, list[str]] = {}
    for name, host in hosts:
        found.setdefault(equal_part(host), []).append(name)
    ordered = sorted(found.items(), key=lambda entry: (-len(entry[1]), min(entry[1])))
    return tuple(
        NodeGroup(id=f"g{number}", host=host, nodes=tuple(sorted(names)))
        for number, (host, names) in enumerate(ordered, start=1)
    )


def _gpus(host: Host) -> str:
    if host.gpus is None:
        return "GPUs not known"
    kinds = Counter((gpu.name or "GPU of unknown kind", gpu.memory) for gpu in host.gpus)
    named = [f"{count} x {name}" + (f" ({size(memory)})" if memory else "") for (name, memory), count in kinds.items()]
    return " + ".join(named) or "no GPU"


def _others(host: Host) -> Iterable[str]:
    if host.driver is not None:
        newer = host.library is not None and host.library > host.driver
        yield f"driver {host.driver}" + (f" with libcuda {host.library}" if newer else "")
    elif host.gpus:
        yield "driver not known"
    if host.machine not in {None, "x86_64"}:
        yield str(host.machine)
    if host.avx is False:
        yield "no AVX"

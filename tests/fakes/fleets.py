"""Facts of a fleet: those of a real machine with other drivers, GPUs, processors and Pythons."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envbuilder.cluster.fleet.collection import EXPECTED_NODES
from tests.fakes.catalogs import ROOT
from tests.fakes.hosts import A100, K80, V100, FakeGpu, host_document

REAL = ROOT / "tests" / "cases" / "facts" / "driver-550-runtime-12.9.json"
H100 = FakeGpu(name="NVIDIA H100 80GB HBM3", capability="9.0", total=80 << 30)
STARTED = 1_795_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeKind:
    """Nodes of one kind.

    Attributes:
        name: Beginning of their names.
        share: Nodes of this kind among a hundred.
        driver: Driver; None for nodes without one.
        gpus: GPUs of a node.
        avx: Whether the processor has AVX.
        python: Python that ran the probe.
    """

    name: str
    share: int
    driver: str | None
    gpus: tuple[FakeGpu, ...] = ()
    avx: bool = True
    python: str = "3.9.21"


KINDS = (
    NodeKind(name="a", share=40, driver="550.54.15", gpus=(A100,) * 8),
    NodeKind(name="b", share=21, driver="470.57.02", gpus=(A100,) * 4, python="3.6.8"),
    NodeKind(name="v", share=20, driver="470.57.02", gpus=(V100,) * 4, python="2.7.5"),
    NodeKind(name="h", share=10, driver="535.104.05", gpus=(H100,) * 8, python="3.12.3"),
    NodeKind(name="k", share=4, driver="470.256.02", gpus=(K80,) * 2, avx=False),
    NodeKind(name="login", share=5, driver=None),
)


def node_document(kind: NodeKind, base: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of a node: those of a real machine, with the driver, the GPUs and the Python of the kind."""
    made = copy.deepcopy(dict(base))
    other = json.loads(host_document(kind.driver, kind.gpus, avx=kind.avx))["facts"]
    for name in ("driver", "nvml", "machine"):
        made["facts"][name] = other[name]
    if kind.driver and made["facts"].get("host", {}).get("ok"):
        made["facts"]["host"]["value"]["modules"] = {"nvidia": True, "nvidia_uvm": True, "nouveau": False}
    made["facts"]["interpreter"]["value"]["version"] = kind.python
    made["facts"]["clock"] = {
        "ok": True, "seconds": 0.0, "value": {"time": STARTED + 1.5, "synchronized": True}
    }  # fmt: skip
    return made


def kinds_of(count: int) -> Iterator[tuple[str, NodeKind]]:
    """Names and kinds of the nodes of a fleet, with numbers from 1 on in each kind."""
    for kind in KINDS:
        for number in range(1, count * kind.share // 100 + 1):
            yield f"{kind.name}{number:03d}", kind


def write_node(folder: Path, name: str, document: object) -> None:
    """Write the facts of a node as the collecting script does."""
    (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    (folder / f"{name}.run").write_text(f"0 {STARTED} {STARTED + 3}\n", encoding="utf-8")


def write_fleet(folder: Path, count: int = 100, base: Mapping[str, Any] | None = None) -> None:
    """Write a collection of nodes, and the list of their names.

    Args:
        folder: Directory; is created.
        count: Number of nodes.
        base: Facts of a real machine; None for recorded ones.
    """
    folder.mkdir(parents=True, exist_ok=True)
    real = base or json.loads(REAL.read_text(encoding="utf-8"))
    names = []
    for name, kind in kinds_of(count):
        write_node(folder, name, node_document(kind, real))
        names.append(name)
    (folder / EXPECTED_NODES).write_text("".join(f"{name}\n" for name in names), encoding="utf-8")

"""Reports about small fleets."""

from __future__ import annotations

import json
from pathlib import Path

from envbuilder.cluster.fleet.collection import open_collection
from envbuilder.cluster.fleet.fleet_check import check_fleet, with_constraints
from envbuilder.cluster.fleet.fleet_images import image_of_environment
from envbuilder.cluster.fleet.fleet_report import FleetReport, ImageVerdicts
from tests.fakes.catalogs import real_catalog, real_row
from tests.fakes.fleets import H100, REAL, NodeKind, node_document, write_fleet, write_node
from tests.fakes.hosts import A100, K80, V100

__all__ = ["A100", "H100", "K80", "V100", "NodeKind"]

OLD_A100 = NodeKind(name="b", share=1, driver="470.57.02", gpus=(A100,))
NEW_A100 = NodeKind(name="a", share=1, driver="550.54.15", gpus=(A100,))
LOGIN = NodeKind(name="login", share=1, driver=None)
TF_2_15 = "tf-2.15-cuda12.2"


def write_nodes(folder: Path, nodes: dict[str, NodeKind], expected: tuple[str, ...] = ()) -> Path:
    """Write facts of nodes, and the list of them and of further ones."""
    folder.mkdir(parents=True)
    base = json.loads(REAL.read_text(encoding="utf-8"))
    for name, kind in nodes.items():
        write_node(folder, name, node_document(kind, base))
    (folder / "nodes.txt").write_text("\n".join((*nodes, *expected)) + "\n", encoding="utf-8")
    return folder


def checked(folder: Path, *environments: str, nodes: tuple[str, ...] = (), since: Path | None = None) -> FleetReport:
    """The report about a directory."""
    images = [image_of_environment(real_row(name)) for name in environments or (TF_2_15,)]
    earlier = open_collection(since) if since else None
    return check_fleet(real_catalog(), images, open_collection(folder, nodes), earlier)


def fits(image: ImageVerdicts) -> dict[str, str]:
    """The verdict for each node."""
    return {node: each.compatibility.fit.value for each in image.groups for node in each.group.nodes}


def mixed_fleet(folder: Path) -> FleetReport:
    """A hundred nodes of six kinds, some silent, some unreadable, two with another time; for what reports look like."""
    write_fleet(folder, 100)
    with (folder / "nodes.txt").open("a", encoding="utf-8") as stream:
        stream.write("gone01\ngone02\n")
    for name in ("gone01", "gone02"):
        (folder / f"{name}.err").write_text("srun: error: node down <b>|`x`\n", encoding="utf-8")
    (folder / "a007.json").write_text("{", encoding="utf-8")
    for name in ("v010", "v011"):
        file = folder / f"{name}.json"
        document = json.loads(file.read_text(encoding="utf-8"))
        document["facts"]["clock"]["value"]["time"] += 3600
        file.write_text(json.dumps(document), encoding="utf-8")
    return with_constraints(checked(folder, TF_2_15, "tf-2.15-cpu", "tf-2.4-cuda11.0"), real_catalog())

"""The host's part of the probe's JSON to facts."""

from __future__ import annotations

from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.host import (
    BusGpu,
    DeviceNode,
    Disk,
    GpuModules,
    HostFacts,
    NamedProcess,
    Smi,
    SmiGpu,
    Wsl,
)
from envbuilder.diagnostics.probe.fact_fields import read_fact
from envbuilder.diagnostics.probe.json_fields import Item


def host(item: Item) -> HostFacts:
    """The host."""
    memory, machine = item["memory"], item["virtualization"]
    return HostFacts(
        disks=tuple(_disk(entry) for entry in item["disks"].items()),
        shm=item["shm"].maybe(_disk),
        memory_available=memory["available"].maybe(Item.integer),
        group_used=memory["group_used"].maybe(Item.integer),
        modules=item["modules"].maybe(_modules),
        bus=item["bus"].maybe(_bus),
        nodes=read_fact(item["nodes"], _nodes),
        smi=item["smi"].maybe(_smi),
        wsl=_wsl(item["wsl"]),
        container=item["container"].text(),
        virtual=machine["virtual"].maybe(Item.flag),
        vendor=machine["vendor"].text(),
        all_processes=item["all_processes"].maybe(Item.flag),
        processes=tuple(_process(entry) for entry in item["processes"].items()),
        variables=tuple((name, value.text()) for name, value in item["variables"].members()),
    )


def _disk(item: Item) -> Disk:
    return Disk(path=item["path"].text(), total=item["total"].integer(), free=item["free"].integer())


def _modules(item: Item) -> GpuModules:
    return GpuModules(
        nvidia=item["nvidia"].flag(), nvidia_uvm=item["nvidia_uvm"].flag(), nouveau=item["nouveau"].flag()
    )


def _bus(item: Item) -> tuple[BusGpu, ...]:
    return tuple(
        BusGpu(bus=entry["bus"].text(), id=entry["id"].maybe(Item.text) or "", driver=entry["driver"].text())
        for entry in item.items()
    )


def _nodes(item: Item) -> tuple[DeviceNode, ...]:
    return tuple(
        DeviceNode(
            path=entry["path"].text(),
            present=entry["present"].flag(),
            opened=entry["opened"].flag(),
            error=entry["error"].text(),
            mode=entry["mode"].maybe(Item.text),
        )
        for entry in item.items()
    )


def _smi(item: Item) -> Smi:
    return Smi(
        path=item["path"].text(),
        status=item["status"].maybe(Item.integer),
        said=tuple(line.text() for line in item["said"].items()),
        gpus=tuple(_smi_gpu(entry) for entry in item["gpus"].items()),
    )


def _smi_gpu(item: Item) -> SmiGpu:
    return SmiGpu(
        name=item["name"].text(),
        driver=_release(item["driver"]),
        memory=item["memory"].maybe(Item.integer),
        free=item["free"].maybe(Item.integer),
        capability=_release(item["capability"]),
    )


def _release(item: Item) -> Release | None:
    return item.maybe(Item.release)


def _wsl(item: Item) -> Wsl:
    return Wsl(
        number=item["number"].integer(),
        device=item["device"].flag(),
        libraries=tuple(name.text() for name in item["libraries"].items()),
    )


def _process(item: Item) -> NamedProcess:
    return NamedProcess(pid=item["pid"].integer(), name=item["name"].maybe(Item.text))

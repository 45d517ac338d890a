"""The framework-free part of the probe's JSON to facts."""

from __future__ import annotations

import re

from envbuilder.core.versions import Release, release_of
from envbuilder.diagnostics.facts.hardware import (
    Compute,
    ComputeGpu,
    CudaLibraryFound,
    GpuBytes,
    GpuProcess,
    KnownResult,
    MemoryRoundTrip,
    Nvml,
    NvmlGpu,
    Speed,
    TimedProduct,
)
from envbuilder.diagnostics.probe.fact_fields import read_fact
from envbuilder.diagnostics.probe.json_fields import Item, WrongField


def nvml(item: Item) -> Nvml:
    """What the management library says."""
    init = item["init"]
    return Nvml(
        loadable=item["loadable"].flag(),
        error=item["error"].text(),
        stub=bool(item["stub"].maybe(Item.flag)),
        init_code=None if init.value is None else init["code"].integer(),
        init_name="" if init.value is None else init["name"].text(),
        driver=_release(item["driver"]),
        version=_release(item["version"]),
        # Empty text is something else than nothing: it hides every GPU.
        visible=None if item["visible"].value is None else item["visible"].text(),
        gpus=tuple(_nvml_gpu(gpu) for gpu in item["gpus"].items()),
        library=_file_release(item["path"].maybe(Item.text)),
    )


def _file_release(path: str | None) -> Release | None:
    """Release number in the real name of a driver's library, such as `libnvidia-ml.so.535.104.05`."""
    found = re.search(r"\.so\.(\d+\.\d+(?:\.\d+)?)$", path or "")
    return release_of(found[1]) if found else None


def _release(item: Item) -> Release | None:
    return item.maybe(Item.release)


def _switch(item: Item) -> bool | None:
    if item.value is None:
        return None
    if item.text() not in {"on", "off"}:
        raise WrongField(item.path, "must be on or off")
    return item.value == "on"


def _nvml_gpu(item: Item) -> NvmlGpu:
    return NvmlGpu(
        index=item["index"].integer(),
        name=item["name"].maybe(Item.text),
        uuid=item["uuid"].maybe(Item.text),
        capability=_release(item["capability"]),
        memory=item["memory"].maybe(_bytes),
        mig=_switch(item["mig"]),
        instances=item["instances"].maybe(Item.integer),
        ecc=_switch(item["ecc"]),
        persistence=_switch(item["persistence"]),
        compute_mode=item["compute_mode"].maybe(Item.text),
        bus=item["bus"].maybe(Item.text),
        processes=item["processes"].maybe(_processes),
        errors=tuple((name, reason.text()) for name, reason in item["errors"].members()),
        uncorrected=item["uncorrected"].maybe(Item.integer),
        rows_pending=item["rows"].maybe(lambda rows: rows["pending"].flag()),
        rows_failed=item["rows"].maybe(lambda rows: rows["failed"].flag()),
    )


def _bytes(item: Item) -> GpuBytes:
    return GpuBytes(total=item["total"].integer(), used=item["used"].integer(), free=item["free"].integer())


def _processes(item: Item) -> tuple[GpuProcess, ...]:
    return tuple(
        GpuProcess(pid=entry["pid"].integer(), memory=entry["memory"].maybe(Item.integer)) for entry in item.items()
    )


def compute(item: Item) -> Compute:
    """What the GPUs computed through CUDA's own libraries."""
    libraries = item["libraries"]
    return Compute(
        cudart=_library(libraries["cudart"]),
        cublas=_library(libraries["cublas"]),
        cudnn=_library(libraries["cudnn"]),
        stub=item["stub"].maybe(Item.flag),
        runtime=_release(item["runtime"]),
        driver=_release(item["driver"]),
        error=item["error"].text(),
        count=item["count"].maybe(Item.integer),
        gpus=tuple(_compute_gpu(gpu) for gpu in item["gpus"].items()),
    )


def _library(item: Item) -> CudaLibraryFound:
    return CudaLibraryFound(
        soname=item["soname"].text(),
        loaded=item["loaded"].flag(),
        path=item["path"].text(),
        error=item["error"].text(),
    )


def _compute_gpu(item: Item) -> ComputeGpu:
    return ComputeGpu(
        index=item["index"].integer(),
        memory=read_fact(item["memory"], _memory),
        matmul=read_fact(item["matmul"], _known),
        convolution=read_fact(item["convolution"], _known),
        speed=read_fact(item["speed"], _speed),
    )


def _memory(item: Item) -> MemoryRoundTrip:
    return MemoryRoundTrip(
        free=item["free"].integer(), total=item["total"].integer(), equal=item["equal"].flag(), bus=item["bus"].text()
    )


def _known(item: Item) -> KnownResult:
    return KnownResult(difference=item["difference"].number())


def _speed(item: Item) -> Speed:
    return Speed(products=tuple(_timed(entry) for entry in item["products"].items()), free=item["free"].integer())


def _timed(item: Item) -> TimedProduct:
    return TimedProduct(
        size=item["size"].integer(),
        milliseconds=item["milliseconds"].number() or 0.0,
        teraflops=item["teraflops"].maybe(Item.number),
        equal=item["equal"].flag(),
    )

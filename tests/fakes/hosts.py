"""Facts of machines with GPUs, as the probe would print them there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.probe.decoding import decode

GIB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeGpu:
    """One GPU; bytes."""

    name: str
    capability: str
    total: int = 16 * GIB
    used: int = 0
    mig: str | None = "off"
    ecc: str | None = "on"
    persistence: str | None = "on"
    mode: str | None = "default"


K80 = FakeGpu(name="Tesla K80", capability="3.7", total=11 * GIB)
V100 = FakeGpu(name="Tesla V100-SXM2-16GB", capability="7.0")
A100 = FakeGpu(name="NVIDIA A100-SXM4-40GB", capability="8.0", total=40 * GIB)


def host_document(
    driver: str | None,
    gpus: Sequence[FakeGpu] = (),
    *,
    cuda: str | None = None,
    memory: int = 64 * GIB,
    limit: int | None = None,
    shm: int = GIB,
    avx: bool = True,
    machine: str = "x86_64",
    more: Mapping[str, object] | None = None,
) -> str:
    """What the probe prints on a machine.

    Args:
        driver: Its driver; None for a machine without one.
        gpus: Its GPUs.
        cuda: Newest CUDA that the driver supports.
        memory: Main memory.
        limit: What the control group allows.
        shm: /dev/shm.
        avx: Whether the processor has AVX.
        machine: What it is.
        more: Further facts by name, as the probe prints their values.
    """
    facts: dict[str, object] = {
        "machine": {
            "cpu": {"avx": avx, "avx2": avx, "fma": avx, "avx512f": False, "model": "a processor"},
            "kernel": "5.4.0",
            "memory": {"limit": limit, "total": memory},
            "shm": shm,
        },
        "interpreter": {
            "encoding": "UTF-8",
            "executable": "/usr/bin/python3",
            "glibc": "2.31",
            "implementation": "CPython",
            "ld_library_path": "",
            "machine": machine,
            "platform": "Linux",
            "prefix": "/usr",
            "uid": 0,
            "version": "3.8.10",
        },
        "driver": _driver(driver, cuda),
        "nvml": _nvml(driver, gpus),
        **(more or {}),
    }
    seen = {name: {"ok": True, "seconds": 0.0, "value": value} for name, value in facts.items()}
    return json.dumps({"schema": 1, "seconds": 0.1, "facts": seen})


def host_facts(driver: str | None, gpus: Sequence[FakeGpu] = (), name: str = "host.json", **others: object) -> Facts:
    """The same as typed facts."""
    return decode(host_document(driver, gpus, **others), name)  # type: ignore[arg-type]  # checked there


def environment(tensorflow: str, **packages: str) -> dict[str, object]:
    """The facts that make a machine one with a Python environment."""
    return {"distributions": {"tensorflow": tensorflow, **packages}}


def _driver(driver: str | None, cuda: str | None) -> dict[str, object]:
    if driver is None:
        absent = {"ok": True, "seconds": 0.0, "value": {"error": "no libcuda.so.1", "loadable": False}}
        return {"interface": absent, "library": None, "module": {"release": None, "text": None}}
    interface = {
        "loadable": True,
        "error": "",
        "path": "/usr/lib/libcuda.so.1",
        "stub": False,
        "cuda": cuda,
        "init": {"code": 0, "name": ""},
        "gpus": [],
    }
    return {
        "interface": {"ok": True, "seconds": 0.0, "value": interface},
        "library": driver,
        "module": {"release": driver, "text": ""},
    }


def _nvml(driver: str | None, gpus: Sequence[FakeGpu]) -> dict[str, object]:
    if driver is None:
        return {
            "driver": None,
            "error": "no libnvidia-ml.so.1",
            "gpus": [],
            "init": None,
            "loadable": False,
            "version": None,
            "visible": None,
        }
    return {
        "driver": driver,
        "error": "",
        "gpus": [_gpu(index, gpu) for index, gpu in enumerate(gpus)],
        "init": {"code": 0, "name": "Success"},
        "loadable": True,
        "version": None,
        "visible": None,
    }


def _gpu(index: int, gpu: FakeGpu) -> dict[str, object]:
    return {
        "index": index,
        "name": gpu.name,
        "uuid": f"GPU-{index}",
        "capability": gpu.capability,
        "memory": {"total": gpu.total, "used": gpu.used, "free": gpu.total - gpu.used},
        "mig": gpu.mig,
        "instances": None,
        "ecc": gpu.ecc,
        "persistence": gpu.persistence,
        "compute_mode": gpu.mode,
        "bus": f"0000:0{index}:00.0",
        "processes": [{"pid": 4242, "memory": gpu.used}] if gpu.used else [],
        "errors": {},
    }

"""Conversion of the engine's JSON about layers and about itself."""

from __future__ import annotations

from collections.abc import Iterable

from envbuilder.core.json_fields import Record, at, number, record, records, text, texts
from envbuilder.image.builds import EngineInfo, ImageLayer

_CONTAINERD_STORE = "io.containerd.snapshotter.v1"
_BUILDKIT_API = (1, 39)
# With the containerd store BuildKit cannot read its own upload (https://github.com/moby/moby/issues/47717) until
# Engine 28 (https://github.com/moby/moby/pull/49178); it failed on 26.1.5 and works on 28.5.2, 2026-11.
_CONTAINERD_STORE_MENDED = (28,)


def failure(message: Record) -> str:
    """Return the error in a progress message of the engine; empty if it reports none."""
    return text(message, "errorDetail", "message") or text(message, "error")


def image_layers(history: Iterable[Record]) -> tuple[ImageLayer, ...]:
    """Read the answer of `GET /images/…/history`, which lists the highest first.

    Returns:
        Shape: Layers that are not empty, lowest first.
    """
    layers = [ImageLayer(created_by=text(entry, "CreatedBy"), size=number(entry, "Size")) for entry in history]
    return tuple(layer for layer in reversed(layers) if layer.size)


def engine_info(version: Record, system: Record, *, context: str = "") -> EngineInfo:
    """Read the answers of `GET /version` and `GET /info`."""
    return EngineInfo(
        name="docker",
        version=text(version, "Version"),
        api=text(version, "ApiVersion"),
        storage=text(system, "Driver"),
        gpus=_hands_out_gpus(system),
        sessionless_buildkit=_sessionless(version, system),
        root=text(system, "DockerRootDir"),
        rootless="name=rootless" in texts(system, "SecurityOptions"),
        mirrors=texts(system, "RegistryConfig", "Mirrors"),
        context=context,
    )


def _hands_out_gpus(system: Record) -> bool:
    devices = records(system, "DiscoveredDevices")  # CDI devices; Engine 28.2 and newer
    return "nvidia" in record(system, "Runtimes") or any(text(device, "ID").startswith("nvidia") for device in devices)


def _sessionless(version: Record, system: Record) -> bool:
    if _numbers(text(version, "ApiVersion")) < _BUILDKIT_API:
        return False
    return not _containerd_store(system) or _numbers(text(version, "Version")) >= _CONTAINERD_STORE_MENDED


def _containerd_store(system: Record) -> bool:
    status = at(system, "DriverStatus")
    return isinstance(status, list) and ["driver-type", _CONTAINERD_STORE] in status


def _numbers(version: str) -> tuple[int, ...]:
    release = version.partition("-")[0].partition("+")[0]
    return tuple(int(part) for part in release.split(".") if part.isdigit())

"""Hosts and GPUs in words."""

from __future__ import annotations

from envbuilder.model.hosts import Host, HostGpu
from envbuilder.model.versions import Release


def on(host: Host) -> str:
    """Where, for the end of a phrase; empty for a host without a name."""
    return f" on {host.name}" if host.name else ""


def gpu_label(gpu: HostGpu, capability: Release) -> str:
    """A GPU in words, such as `Tesla K80 (3.7)`."""
    return f"{gpu.name} ({capability})" if gpu.name else f"a GPU of {capability}"

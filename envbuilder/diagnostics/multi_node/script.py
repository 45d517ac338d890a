"""The worker as one file: its modules and those of the probe that it uses, joined."""

from __future__ import annotations

from functools import cache

from envbuilder.diagnostics.probe.script import joined

_PACKAGE = "envbuilder.incontainer.multi_node"
_PROBE = "envbuilder.incontainer.probe"
_MODULES = (
    f"{_PROBE}.values",
    f"{_PROBE}.machine",
    f"{_PROBE}.children",
    f"{_PACKAGE}.cluster",
    f"{_PACKAGE}.findings",
    f"{_PACKAGE}.rendezvous",
    f"{_PACKAGE}.together",
    f"{_PACKAGE}.worker",
)


@cache
def worker_source() -> bytes:
    """Return the worker: one file of standard Python that needs TensorFlow only in its child process."""
    return joined(_PACKAGE, _MODULES)

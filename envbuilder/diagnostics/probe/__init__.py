"""Run the probe in a container or on this host, and decode its facts."""

from envbuilder.diagnostics.probe.containers import probe_image
from envbuilder.diagnostics.probe.decoding import decode
from envbuilder.diagnostics.probe.interpreters import probe_python
from envbuilder.diagnostics.probe.requests import ProbeRequest, request_for

__all__ = ["ProbeRequest", "decode", "probe_image", "probe_python", "request_for"]

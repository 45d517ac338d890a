"""Run the probe in a container or on this host, and read its facts."""

from envbuilder.probing.containers import probe_image
from envbuilder.probing.decoding import decode
from envbuilder.probing.interpreters import probe_python
from envbuilder.probing.requests import ProbeRequest, request_for

__all__ = ["ProbeRequest", "decode", "probe_image", "probe_python", "request_for"]

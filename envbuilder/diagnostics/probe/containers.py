"""Run the probe in a new container of an image."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from envbuilder.core.errors import ToolFailed
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.probe.decoding import PYTHON, read_answer
from envbuilder.diagnostics.probe.requests import ProbeRequest
from envbuilder.diagnostics.probe.script import probe_source
from envbuilder.oci.runtime.command import RunRequest, RunResult

PROBE_PATH = "/tmp/envbuilder-probe.py"  # noqa: S108 - a path in a fresh container, not on this machine
REQUEST_PATH = "/tmp/envbuilder-request.json"  # noqa: S108
SHARE_FOR_TENSORFLOW = 0.8


class Runner(Protocol):
    """The only method of an engine that probing needs."""

    def run(self, request: RunRequest) -> RunResult:
        """Run a command in a new container, and remove the container in any case."""
        ...


def probe_image(  # noqa: PLR0913  what one look needs
    engine: Runner,
    image: str,
    request: ProbeRequest,
    *,
    gpus: bool,
    timeout: float = 900.0,
    devices: tuple[str, ...] = (),
    env: tuple[tuple[str, str], ...] = (),
    files: tuple[tuple[str, bytes], ...] = (),
) -> Facts:
    """Probe an image.

    Args:
        engine: Runs the container.
        image: Reference or id.
        request: The request; its limit is lowered so that the probe answers before the container is killed.
        gpus: Whether the container gets the GPUs of the host.
        timeout: Seconds for the whole container.
        devices: CDI devices that it gets instead of all GPUs.
        env: Environment variables of the container on top of the image's, sorted by name.
        files: `(path, content)` of files that it gets beside those of the probe.

    Raises:
        ToolFailed: The probe gave no answer: no interpreter, killed, or something else on its standard output.
        EngineError: The engine refuses.
    """
    bounded = replace(request, limit=min(request.limit, timeout * SHARE_FOR_TENSORFLOW))
    result = engine.run(
        RunRequest(
            image=image,
            command=(PYTHON, PROBE_PATH, "--request", REQUEST_PATH),
            files=((PROBE_PATH, probe_source()), (REQUEST_PATH, bounded.encode()), *files),
            env=env,
            gpus=gpus,
            devices=devices,
            network="none",
            timeout=timeout,
        )
    )
    if result.timed_out:
        hint = "give it more time, or run the image by hand and import tensorflow to see where it hangs"
        raise ToolFailed(f"the probe in {image} did not answer within {timeout:.0f} s", hint=hint)
    return read_answer(result.status, result.stdout, result.stderr, origin=image)

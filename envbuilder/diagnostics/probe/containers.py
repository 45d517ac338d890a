"""Run the probe in a new container of an image."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from envbuilder.core.errors import InvalidInput, ToolFailed
from envbuilder.core.image_layout import VENV
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.probe.decoding import decode
from envbuilder.diagnostics.probe.requests import ProbeRequest
from envbuilder.diagnostics.probe.script import probe_source
from envbuilder.oci.runtime.command import RunRequest, RunResult

PROBE_PATH = "/tmp/envbuilder-probe.py"  # noqa: S108 - a path in a fresh container, not on this machine
REQUEST_PATH = "/tmp/envbuilder-request.json"  # noqa: S108
PYTHON = f"/{VENV}/bin/python"
SHARE_FOR_TENSORFLOW = 0.8
_TAIL_LINES = 12


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


def read_answer(status: int, stdout: bytes, stderr: bytes, *, origin: str) -> Facts:
    """Return the facts that a probe printed.

    Raises:
        ToolFailed: It ended with an error, or printed something else.
    """
    tail = "\n".join(f"  {line}" for line in stderr.decode("utf-8", "replace").splitlines()[-_TAIL_LINES:])
    wrote = f"; it wrote\n{tail}" if tail else ""
    if status != 0:
        raise ToolFailed(f"the probe in {origin} exited with status {status}{wrote}", hint=_hint(status))
    try:
        return decode(stdout, origin)
    except InvalidInput as error:
        fault = error.faults[0]
        problem = f"{fault.field} {fault.problem}".strip()
        hint = "something in the image writes to standard output before Python starts (entry point, sitecustomize)"
        raise ToolFailed(f"the probe in {origin} returned no facts: {problem}{wrote}", hint=hint) from error


def _hint(status: int) -> str:
    if status in {126, 127}:
        return f"there is no interpreter at {PYTHON}: the image may not be built by envbuilder"
    if status == 137:
        return "the container was killed, usually for lack of memory: raise its memory limit"
    return "start the Python of the image by hand: `docker run --rm -it IMAGE python`"

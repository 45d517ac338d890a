"""Examination of a machine and of the environment of an interpreter: problems, and environments that run there."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from envbuilder.core.conversion.reading import Mismatched
from envbuilder.core.errors import EnvbuilderError, ToolFailed
from envbuilder.core.field_rules import At
from envbuilder.core.json_input import BadJson, load_object
from envbuilder.core.structure import dump, load
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.host.environment import HostEnvironment
from envbuilder.diagnostics.host_environment import HostEnvironmentPorts, Pending, start_host_environment
from envbuilder.diagnostics.probe.containers import SHARE_FOR_TENSORFLOW
from envbuilder.diagnostics.probe.decoding import DIALECT, PYTHON, FactsDocument, decode, invalid, parsed, read_answer
from envbuilder.diagnostics.probe.interpreters import probe_document
from envbuilder.diagnostics.probe.requests import ProbeRequest, launch
from envbuilder.oci.runtime.command import RunResult

HARDWARE = ProbeRequest(train=False, framework=False, compute=False)
"""Hardware only, without a framework; doctor computes nothing and allocates no GPU memory."""
IMPORT = replace(HARDWARE, framework=True, hardware=True)
"""Also imports TensorFlow and lists its devices."""
HOST_ENVIRONMENT = "surroundings"
"""Field of a document of facts."""
THIS_HOST = "this host"
NO_PYTHON = "no python on PATH"
_SPARE_SECONDS = 10.0
# The first available Python: containers may come from other tools.
_FIND = f'for each in {PYTHON} python3 python; do command -v "$each" >/dev/null && exec "$each" "$@"; done; exit 127'


@dataclass(frozen=True, slots=True, kw_only=True)
class HostProbe:
    """The probed state of a machine.

    Attributes:
        document: The document that `-o` writes: the probe's own, with the host_environment in an additional field.
        host_environment: Facts about the host_environment; None if they were not examined.
    """

    document: bytes
    facts: Facts
    host_environment: HostEnvironment | None


def start_probe_of_python(python: Path, *, timeout: float, imports: bool = False) -> Callable[[], HostProbe]:
    """Start to probe this machine and the environment of one interpreter, without its host_environment.

    Args:
        python: The interpreter.
        timeout: Seconds for the probe.
        imports: Whether to import TensorFlow.

    Returns:
        A function that waits for the result; it raises `ToolMissing` if the program does not exist, and `ToolFailed` if
        the probe gave no answer, or this is not Python.
    """
    request = _request(timeout, imports=imports)
    return _started(lambda: probe_document(python, request, timeout=timeout), str(python), timeout)


def start_probe_of_host(
    environment: Callable[[], HostEnvironmentPorts],
    *,
    timeout: float,
    python: Path | None = None,
    imports: bool = False,
) -> Callable[[], HostProbe]:
    """Start to probe this machine and its host_environment in the background.

    Args:
        environment: Returns what is asked around it; is called when the probe runs already.
        timeout: Seconds for the probe.
        python: Interpreter of the environment; None if there is none.
        imports: Whether to import TensorFlow.

    Returns:
        A function that waits for the result; it raises `ToolFailed` if the probe gave no answer.
    """
    request = _request(timeout, imports=imports)
    return _started(lambda: _probe_host(python, request, timeout), THIS_HOST, timeout, environment)


def _started(
    probe: Callable[[], bytes],
    origin: str,
    timeout: float,
    environment: Callable[[], HostEnvironmentPorts] | None = None,
) -> Callable[[], HostProbe]:
    """Start a probe, then the requests to the host_environment if one is given; return what waits for both."""
    pending = Pending(probe)
    surroundings = start_host_environment(environment()) if environment else None

    def looked() -> HostProbe:
        # The probe limits its own time, and reports it.
        document = pending.result(2 * timeout + _SPARE_SECONDS, b"")
        facts, seen = decode(document, origin), surroundings() if surroundings else None
        return HostProbe(document=with_host_environment(document, seen), facts=facts, host_environment=seen)

    return looked


def _probe_host(python: Path | None, request: ProbeRequest, timeout: float) -> bytes:
    """Run the probe with an interpreter; if it gives no answer, with our own and without installed software."""
    why = NO_PYTHON
    if python is not None:
        try:
            return probe_document(python, request, timeout=timeout)
        except EnvbuilderError as error:
            why = error.message.splitlines()[0]
    return _without_software(probe_document(Path(sys.executable), HARDWARE, timeout=timeout), why)


def _request(timeout: float, *, imports: bool) -> ProbeRequest:
    return replace(IMPORT, limit=timeout * SHARE_FOR_TENSORFLOW) if imports else HARDWARE


def look_into_container(
    name: str,
    run: Callable[[tuple[str, ...]], RunResult],
    python: str = "",
    *,
    timeout: float = 120.0,
    imports: bool = False,
) -> HostProbe:
    """Probe a running container.

    Args:
        name: Its name.
        run: Runs a command in it.
        python: Path of the interpreter in it; empty means the first available one.
        timeout: Seconds for the probe.
        imports: Whether to import TensorFlow.

    Raises:
        ToolFailed: The probe gave no answer.
    """
    origin = f"container {name}"
    command = launch(python or PYTHON, _request(timeout, imports=imports))
    done = run(command if python else ("/bin/sh", "-c", _FIND, "sh", *command[1:]))
    if done.timed_out:
        raise ToolFailed(f"the probe in {origin} did not answer in time", hint=f"see it: docker top {name}")
    if done.status in {126, 127}:
        if python:
            hint = f"take the first Python that it has: envbuilder doctor --container {name}"
            raise ToolFailed(f"{origin} cannot run {python}: no such program", hint=hint)
        hint = "install a Python in it, or examine its host: `envbuilder doctor`"
        raise ToolFailed(f"{origin} has no Python to run the probe", hint=hint)
    facts = read_answer(done.status, done.stdout, done.stderr, origin=origin)
    return HostProbe(document=done.stdout, facts=facts, host_environment=None)


def read_facts_file(document: bytes, name: str) -> HostProbe:
    """Return the content of a file with facts.

    Raises:
        InvalidInput: The file does not contain facts.
    """
    facts = decode(document, name)
    return HostProbe(document=document, facts=facts, host_environment=decode_host_environment(document, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class _WithHostEnvironment:
    host_environment: Annotated[HostEnvironment | None, At(HOST_ENVIRONMENT)]


def decode_host_environment(document: str | bytes, origin: str) -> HostEnvironment | None:
    """Read the environment of the host in a document of facts; None if it has none. `origin` names the file in errors.

    Raises:
        InvalidInput: They do not match the schema of this version.
    """
    try:
        return load(_WithHostEnvironment, parsed(document), dialect=DIALECT).host_environment
    except Mismatched as error:
        raise invalid(error, origin, "run `envbuilder doctor -o facts.json` there again") from error


def with_host_environment(document: bytes, host_environment: HostEnvironment | None) -> bytes:
    """Return the probe's document with the environment of the host in a field of its own; unchanged for None."""
    if host_environment is None:
        return document
    return _written(load_object(document, surrogates=True) | {HOST_ENVIRONMENT: dump(host_environment)})


def _without_software(document: bytes, why: str) -> bytes:
    """Return the probe's document with a reason in place of the installed software."""
    whole = load_object(document, surrogates=True)
    error = {"type": "NotFound", "message": why, "trace": []}
    facts = load(FactsDocument, whole).facts
    if not isinstance(facts, dict):
        raise BadJson("facts is not an object")
    return _written(whole | {"facts": {**facts, "software": {"ok": False, "seconds": 0.0, "error": error}}})


def _written(document: dict[str, object]) -> bytes:
    return (json.dumps(document, sort_keys=True, allow_nan=False) + "\n").encode("ascii")

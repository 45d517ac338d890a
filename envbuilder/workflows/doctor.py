"""Look at a machine, and say what is wrong with it and what runs on it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from envbuilder.errors import ToolFailed
from envbuilder.examining.table import examine_machine
from envbuilder.model.builds import RunResult
from envbuilder.model.examinations import Examination
from envbuilder.model.facts import Facts
from envbuilder.model.rows import Catalog
from envbuilder.model.surroundings import Surroundings
from envbuilder.probing.containers import PYTHON, read_answer
from envbuilder.probing.decoding import decode
from envbuilder.probing.interpreters import probe_document
from envbuilder.probing.launching import launch
from envbuilder.probing.requests import ProbeRequest
from envbuilder.probing.surroundings import decode_surroundings, with_surroundings

HARDWARE = ProbeRequest(train=False, framework=False, compute=False)
"""No framework, and nothing is computed: doctor looks, and takes no memory of a GPU."""
THIS_HOST = "this host"
# The first Python that there is: not every container was built by us.
_FIND = f'for each in {PYTHON} python3 python; do command -v "$each" >/dev/null && exec "$each" "$@"; done; exit 127'


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """A machine that was looked at.

    Attributes:
        document: What `-o` writes: the probe's own, with the surroundings in a field of their own.
        facts: What the probe saw.
        surroundings: What stands around; None when nobody looked.
    """

    document: bytes
    facts: Facts
    surroundings: Surroundings | None


def look_at_host(around: Callable[[], Surroundings], *, timeout: float) -> Looked:
    """Look at this machine.

    Args:
        around: Gives what stands around; was started before.
        timeout: Seconds for the probe.

    Raises:
        ToolFailed: The probe gave no answer.
    """
    document = probe_document(Path(sys.executable), HARDWARE, timeout=timeout)
    facts, surroundings = decode(document, THIS_HOST), around()
    return Looked(document=with_surroundings(document, surroundings), facts=facts, surroundings=surroundings)


def look_into_container(name: str, run: Callable[[tuple[str, ...]], RunResult]) -> Looked:
    """Look into a container that runs.

    Args:
        name: Its name.
        run: Runs a command there.

    Raises:
        ToolFailed: The probe gave no answer.
    """
    origin = f"container {name}"
    done = run(("/bin/sh", "-c", _FIND, "sh", *launch(PYTHON, HARDWARE)[1:]))
    if done.timed_out:
        raise ToolFailed(f"the probe in {origin} did not answer in time", hint=f"see it: docker top {name}")
    if done.status in {126, 127}:
        hint = "put one there, or look from its host: `envbuilder doctor`"
        raise ToolFailed(f"{origin} has no Python to look with", hint=hint)
    facts = read_answer(done.status, done.stdout, done.stderr, origin=origin)
    return Looked(document=done.stdout, facts=facts, surroundings=None)


def look_into_file(document: bytes, name: str) -> Looked:
    """Take what was seen before, here or elsewhere.

    Raises:
        InvalidInput: These are no facts.
    """
    facts = decode(document, name)
    return Looked(document=document, facts=facts, surroundings=decode_surroundings(document, name))


def examine(catalog: Catalog, looked: Looked) -> Examination:
    """What is wrong with the machine, what could not be seen, and which environments run on it."""
    return examine_machine(catalog, looked.facts, looked.surroundings)

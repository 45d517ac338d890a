"""Look at a machine, and say what is wrong with it and what runs on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from envbuilder.catalog.buildable import Inventory
from envbuilder.errors import ToolFailed
from envbuilder.examining.examination import Examination
from envbuilder.examining.table import examine_machine
from envbuilder.model.builds import RunResult
from envbuilder.model.facts import Facts
from envbuilder.model.rows import Catalog
from envbuilder.model.surroundings import Surroundings
from envbuilder.probing.containers import PYTHON, read_answer
from envbuilder.probing.decoding import decode
from envbuilder.probing.interpreters import probe_here
from envbuilder.probing.launching import launch
from envbuilder.probing.requests import ProbeRequest
from envbuilder.probing.surroundings import decode_surroundings, with_surroundings
from envbuilder.workflows.look_around import AroundPorts, start_looking
from envbuilder.workflows.pending import Pending

HARDWARE = ProbeRequest(train=False, framework=False, compute=False)
"""No framework, and nothing is computed: doctor looks, and takes no memory of a GPU."""
THIS_HOST = "this host"
_SPARE_SECONDS = 10.0
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


def start_looking_at_host(ports: Callable[[], AroundPorts], *, timeout: float) -> Callable[[], Looked]:
    """Look at this machine, and around it, while the caller does something else.

    Args:
        ports: Gives what is asked around it; is called when the probe runs already.
        timeout: Seconds for the probe.

    Returns:
        Gives what was seen, when it is there; raises `ToolFailed` when the probe gave no answer.
    """
    probe = Pending(lambda: probe_here(HARDWARE, timeout=timeout))
    around = start_looking(ports())

    def looked() -> Looked:
        # The probe keeps its time by itself, and says so.
        document = probe.result(timeout + _SPARE_SECONDS, b"")
        facts, surroundings = decode(document, THIS_HOST), around()
        return Looked(document=with_surroundings(document, surroundings), facts=facts, surroundings=surroundings)

    return looked


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


def examine(catalog: Catalog, looked: Looked, inventory: Inventory) -> Examination:
    """Examine the machine: what is wrong with it, what could not be seen, and which environments run on it."""
    return examine_machine(catalog, looked.facts, looked.surroundings, inventory)

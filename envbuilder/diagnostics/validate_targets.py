"""Validate a running container, an interpreter or an Apptainer image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from envbuilder.catalog.environments import Catalog
from envbuilder.core.errors import ToolFailed
from envbuilder.diagnostics.checks.results import Report, Tier
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.probe.command import launch
from envbuilder.diagnostics.probe.containers import SHARE_FOR_TENSORFLOW, read_answer
from envbuilder.diagnostics.probe.requests import ProbeRequest, request_for
from envbuilder.diagnostics.validate import expectation_of, judge_facts
from envbuilder.lock.lock import Lock
from envbuilder.oci.runtime.command import RunResult

ProbeRunner: TypeAlias = Callable[[ProbeRequest], Facts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place that is validated.

    Attributes:
        name: Name given by the user.
        tier: Extent.
        required: Tier that must be proven; None fails on findings only.
        timeout: Seconds for the probe.
    """

    name: str
    tier: Tier
    required: Tier | None
    timeout: float


def validate_place(catalog: Catalog, lock: Lock, place: Place, look: ProbeRunner, clock: Callable[[], float]) -> Report:
    """Run the probe in a place and judge its facts.

    Args:
        catalog: The rows.
        lock: Lock of the place.
        place: The place.
        look: Runs the probe in it.
        clock: Returns seconds, monotonic.

    Raises:
        ToolFailed: The probe gave no answer.
    """
    started = clock()
    request = request_for(expectation_of(catalog, lock), gpu=place.tier is Tier.GPU)
    facts = look(replace(request, limit=min(request.limit, place.timeout * SHARE_FOR_TENSORFLOW)))
    return judge_facts(
        catalog,
        lock,
        facts,
        tier=place.tier,
        required=place.required,
        subject=place.name,
        seconds=clock() - started,
    )


def by_command(python: str, origin: str, run: Callable[[tuple[str, ...]], RunResult]) -> ProbeRunner:
    """Return what runs the probe by one command, where no file can be put.

    Args:
        python: Path of the interpreter in the place.
        origin: Origin of the facts.
        run: Runs a command in the place.
    """

    def look(request: ProbeRequest) -> Facts:
        done = run(launch(python, request))
        if done.timed_out:
            raise ToolFailed(
                f"the probe in {origin} did not answer in time", hint="increase the timeout: --timeout SECONDS"
            )
        return read_answer(done.status, done.stdout, done.stderr, origin=origin)

    return look

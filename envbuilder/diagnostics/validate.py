"""Validation by the probe: of an image, a running container, an interpreter or an Apptainer image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.expectation import Expectation
from envbuilder.core.errors import ToolFailed, UsageError
from envbuilder.core.memory_policy import VARIABLE, MemoryPolicy
from envbuilder.diagnostics.checks.evaluation import run_checks
from envbuilder.diagnostics.checks.expectation import expect
from envbuilder.diagnostics.checks.results import Report, Tier
from envbuilder.diagnostics.facts.facts import NOT_ASKED, Facts, Unseen
from envbuilder.diagnostics.probe.containers import SHARE_FOR_TENSORFLOW, probe_image
from envbuilder.diagnostics.probe.decoding import read_answer
from envbuilder.diagnostics.probe.requests import ProbeRequest, launch, request_for
from envbuilder.image.embedded_lock import ImageEngine, lock_inside, no_hook
from envbuilder.lock.lock import Lock
from envbuilder.lock.staleness import environment_of
from envbuilder.oci.runtime.command import RunResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """The image to validate, and the extent.

    Attributes:
        image: Reference or id, as the engine has it.
        tier: Extent; None means as far as the engine can.
        required: Tier that must be proven; None fails on findings only.
        timeout: Seconds for the probe.
        devices: CDI devices that the container gets instead of all GPUs.
        memory: Memory policy for the container in place of the image's; None keeps it.
        files: `(path, content)` of files that the container gets beside the image, such as a library in place of the
            driver's.
    """

    image: str
    tier: Tier | None = None
    required: Tier | None = None
    timeout: float = 900.0
    devices: tuple[str, ...] = ()
    memory: MemoryPolicy | None = None
    files: tuple[tuple[str, bytes], ...] = ()


def validate(
    catalog: Catalog, wanted: Validation, lock: Lock | None, engine: ImageEngine, clock: Callable[[], float]
) -> Report:
    """Probe an image and check the facts; without a lock, by the lock inside the image.

    Raises:
        UsageError: The engine has no such image, or it contains no lock and none was given.
        ToolFailed: The probe gave no answer.
    """
    started = clock()
    if engine.image(wanted.image) is None:
        raise UsageError(
            f"the engine has no image {wanted.image}", hint="build it with `envbuilder build ENV`, or pull it"
        )
    tier = wanted.tier or (Tier.GPU if wanted.devices or engine.info().gpus else Tier.CPU)
    expected = lock or lock_inside(engine, wanted.image)
    expectation = _expectation_of(catalog, expected)
    if wanted.memory:
        expectation = _with_memory(expectation, wanted.memory)
    gpu = tier is Tier.GPU
    facts = probe_image(
        engine,
        wanted.image,
        request_for(expectation, gpu=gpu),
        gpus=gpu,
        timeout=wanted.timeout,
        devices=wanted.devices,
        env=((VARIABLE, str(wanted.memory)),) if wanted.memory else (),
        files=wanted.files,
    )
    return run_checks(
        expectation,
        facts,
        tier=tier,
        required=wanted.required,
        subject=wanted.image,
        seconds=clock() - started,
    )


def validate_facts(  # noqa: PLR0913  each is a part of one report
    catalog: Catalog,
    lock: Lock,
    facts: Facts,
    *,
    tier: Tier | None,
    required: Tier | None,
    subject: str,
    seconds: float,
) -> Report:
    """Check facts that were gathered elsewhere.

    Without a tier it is the GPU tier if the probe was asked to compute on GPUs.
    """
    asked_for_gpus = not (isinstance(facts.gpu, Unseen) and facts.gpu.kind == NOT_ASKED.kind)
    return run_checks(
        _expectation_of(catalog, lock),
        facts,
        tier=tier or (Tier.GPU if asked_for_gpus else Tier.CPU),
        required=required,
        subject=subject,
        seconds=seconds,
    )


def _with_memory(expectation: Expectation, policy: MemoryPolicy) -> Expectation:
    """Return the expectation of an image that runs with another policy than its own.

    Raises:
        UsageError: It has no hook, so that the policy would have no effect.
    """
    if expectation.memory is None:
        raise no_hook()
    return replace(expectation, memory=policy)


def _expectation_of(catalog: Catalog, lock: Lock) -> Expectation:
    """Return the expected properties of an image of a lock, by its row."""
    row = environment_of(catalog, lock)
    return expect(row, lock, catalog.cuda)


ProbeRunner: TypeAlias = Callable[[ProbeRequest], Facts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The container, interpreter or image that is validated.

    Attributes:
        name: Name given by the user.
        required: Tier that must be proven; None fails on findings only.
        timeout: Seconds for the probe.
    """

    name: str
    tier: Tier
    required: Tier | None
    timeout: float


def validate_target(
    catalog: Catalog, lock: Lock, target: Target, look: ProbeRunner, clock: Callable[[], float]
) -> Report:
    """Run the probe in a target and check its facts.

    Raises:
        ToolFailed: The probe gave no answer.
    """
    started = clock()
    request = request_for(_expectation_of(catalog, lock), gpu=target.tier is Tier.GPU)
    facts = look(replace(request, limit=min(request.limit, target.timeout * SHARE_FOR_TENSORFLOW)))
    return validate_facts(
        catalog,
        lock,
        facts,
        tier=target.tier,
        required=target.required,
        subject=target.name,
        seconds=clock() - started,
    )


def by_command(python: str, origin: str, run: Callable[[tuple[str, ...]], RunResult]) -> ProbeRunner:
    """Return a runner of the probe that needs one command and no writable files; `python` is a path in the target."""

    def look(request: ProbeRequest) -> Facts:
        done = run(launch(python, request))
        if done.timed_out:
            raise ToolFailed(
                f"the probe in {origin} did not answer in time", hint="increase the timeout: --timeout SECONDS"
            )
        return read_answer(done.status, done.stdout, done.stderr, origin=origin)

    return look

"""Validation of what a command line names: which target, and by which adapter it is looked at."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from envbuilder.catalog.selection import meant
from envbuilder.core.errors import UsageError
from envbuilder.core.memory_policy import MemoryPolicy
from envbuilder.diagnostics.checks.results import Report, Tier
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.probe.decoding import PYTHON, decode
from envbuilder.diagnostics.probe.interpreters import probe_python
from envbuilder.diagnostics.probe.requests import ProbeRequest
from envbuilder.diagnostics.validate import (
    ProbeRunner,
    Target,
    Validation,
    by_command,
    validate,
    validate_facts,
    validate_target,
)
from envbuilder.diagnostics.validate_static import validate_static
from envbuilder.image.builder import Engine
from envbuilder.image.embedded_lock import LOCK_IN_IMAGE, lock_of
from envbuilder.image.running.node_runtimes import NodeRuntime
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import LOCK, SPEC, read_lock
from envbuilder.oci.runtime.command import RunResult
from envbuilder.wiring.engines import path_or_reference
from envbuilder.wiring.locks import known_lock, obtain_lock
from envbuilder.wiring.node_runtimes import chosen_runner
from envbuilder.wiring.session import Session
from envbuilder.wiring.subjects import readable_subject

_DRIVER = Path("/proc/driver/nvidia/version")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationRequest:
    """The request of the command line; empty texts for missing parts.

    Attributes:
        python: Interpreter on this host, or in the container.
        facts: Output of the probe from elsewhere; `-` for standard input.
        engine: Engine that has the image.
        runtime: Runtime that runs the image instead; None for the engine, or for Apptainer if the image is its file.
        tier: Extent; None means as far as the place can.
        lock: Lock, or the name of a lock or environment, to compare with; None for the one in the image.
        memory: GPU memory policy in place of the image's; None keeps it.
        timeout: Seconds for the probe.
    """

    image: str
    container: str = ""
    python: str = ""
    facts: tuple[Path, ...] = ()
    engine: Engine
    runtime: NodeRuntime | None = None
    tier: Tier | None
    required: Tier | None
    devices: tuple[str, ...] = ()
    lock: str | Lock | None
    memory: MemoryPolicy | None = None
    timeout: float


def reports_on(
    session: Session, asked: ValidationRequest, read: Callable[[Path], str], warn: Callable[[str, str], None]
) -> tuple[Report, ...]:
    """Return the report on what is named, or one for each file of facts.

    `read` returns the text of a file of facts. `warn` gets an environment and its base, empty for any, before GPUs of
    this host are used.

    Raises:
        UsageError: Nothing was named, or two things; there is no such image, or no lock.
    """
    named = {"IMAGE": asked.image, "--container or --python": asked.container or asked.python, "--facts": asked.facts}
    given = [name for name, value in named.items() if value]
    if not given:
        raise UsageError(
            "nothing to validate: no image, container, interpreter or facts",
            hint="specify IMAGE, --container NAME, --python PATH or --facts FILE",
        )
    if len(given) > 1:
        raise UsageError(f"{given[0]} cannot be combined with {given[1]}", hint="name one of them")
    _refuse_memory(asked)
    if asked.facts:
        return _facts(session, asked, read)
    lock = _named_lock(session, asked.lock, asked.tier)
    if Tier.GPU in {asked.tier, asked.required} and not asked.container:
        warn(*_environment(session, asked, lock))
    return (_looked(session, asked, lock),)


def _looked(session: Session, asked: ValidationRequest, lock: Lock | None) -> Report:
    if asked.container:
        return _container(session, asked, lock)
    if asked.python:
        return _python(session, asked, lock)
    if asked.tier is Tier.STATIC:
        return _static(session, asked, lock)
    return _image(session, asked, lock)


def _facts(session: Session, asked: ValidationRequest, read: Callable[[Path], str]) -> tuple[Report, ...]:
    if Tier.STATIC in {asked.tier, asked.required}:
        raise _needs_layers()
    lock = asked.lock if isinstance(asked.lock, Lock) else known_lock(session, asked.lock, Sources())[0]
    seen = [(str(file), decode(read(file), str(file))) for file in asked.facts]
    return tuple(
        validate_facts(
            session.catalog,
            lock,
            facts,
            tier=asked.tier,
            required=asked.required,
            subject=name,
            seconds=facts.seconds,
        )
        for name, facts in seen
    )


def _environment(session: Session, asked: ValidationRequest, lock: Lock | None) -> tuple[str, str]:
    """Return the environment and the base that will be looked at, as far as the command line alone says."""
    if lock is not None:
        return lock.environment, lock.base.id
    # `build` names the image of a row `envbuilder/ENV:latest`.
    named = asked.image.removeprefix("envbuilder/").partition(":")[0]
    row = meant(session.catalog, named)
    return row.id if row else named, ""


def _refuse_memory(asked: ValidationRequest) -> None:
    is_run_here = asked.image and asked.tier is not Tier.STATIC
    if asked.memory and not is_run_here:
        raise UsageError(
            "--memory is supported only for images that this command runs",
            hint="set ENVBUILDER_MEMORY in that environment instead",
        )


def _named_lock(session: Session, name: str | Lock | None, tier: Tier | None) -> Lock | None:
    """Return the lock of `--lock`; base and interpreter are pinned only for the static tier, which needs digests."""
    if name is None or isinstance(name, Lock):
        return name
    if Path(name).is_file():
        return read_lock(Path(name))
    obtain = obtain_lock if tier is Tier.STATIC else known_lock
    return obtain(session, name, Sources())[0]


def _image(session: Session, asked: ValidationRequest, lock: Lock | None) -> Report:
    reference, engine = chosen_runner(session, asked.image, asked.engine, asked.runtime)
    wanted = Validation(
        image=reference,
        tier=asked.tier,
        required=asked.required,
        timeout=asked.timeout,
        devices=asked.devices,
        memory=asked.memory,
    )
    session.progress(f"looking inside {wanted.image}")
    return validate(session.catalog, wanted, lock, engine, time.monotonic)


def _static(session: Session, asked: ValidationRequest, lock: Lock | None) -> Report:
    if asked.required not in {None, Tier.STATIC}:
        raise UsageError("tier static does not run the image", hint="use --tier cpu or --tier gpu with --require")
    image = path_or_reference(session, asked.image, asked.engine)
    session.progress(f"reading {image}")
    with session.settings.work_folder("validate") as folder:
        subject = readable_subject(session, image, asked.engine, folder)
        return validate_static(subject, lock, folder, time.monotonic, required=asked.required)


def _container(session: Session, asked: ValidationRequest, lock: Lock | None) -> Report:
    name = asked.container
    session.progress(f"looking into the container {name}")

    def run(command: tuple[str, ...]) -> RunResult:
        return session.engine.execute(name, command, asked.timeout)

    expected = lock or lock_of(run(("/bin/cat", LOCK_IN_IMAGE)), name)
    tier = asked.tier or (Tier.GPU if session.engine.has_gpus(name) else Tier.CPU)
    return _place(session, asked, expected, name, tier, by_command(asked.python or PYTHON, name, run))


def _python(session: Session, asked: ValidationRequest, lock: Lock | None) -> Report:
    if lock is None and not LOCK.is_file() and not SPEC.is_file():
        raise UsageError(
            f"no lock to check {asked.python} against: {LOCK} not found",
            hint=f"specify an environment: --lock ENV; or show the versions: envbuilder doctor --python {asked.python}",
        )
    expected = lock or obtain_lock(session, None, Sources())[0]
    session.progress(f"looking at the environment of {asked.python}")
    tier = asked.tier or (Tier.GPU if _DRIVER.exists() else Tier.CPU)

    def look(request: ProbeRequest) -> Facts:
        return probe_python(Path(asked.python), request, timeout=asked.timeout)

    return _place(session, asked, expected, asked.python, tier, look)


def _place(  # noqa: PLR0913  each is a part of one run
    session: Session, asked: ValidationRequest, lock: Lock, name: str, tier: Tier, look: ProbeRunner
) -> Report:
    if tier is Tier.STATIC:
        raise _needs_layers()
    target = Target(name=name, tier=tier, required=asked.required, timeout=asked.timeout)
    return validate_target(session.catalog, lock, target, look, time.monotonic)


def _needs_layers() -> UsageError:
    return UsageError("tier static reads the layers of an image", hint="specify the image, or use --tier cpu")

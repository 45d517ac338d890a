"""Several workers of one image: on this host in a virtual network, or facts of a cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO

from envbuilder.core.errors import UsageError
from envbuilder.core.files import replacing
from envbuilder.diagnostics.checks.results import Report
from envbuilder.diagnostics.multi_node.facts import decode_worker, gather
from envbuilder.diagnostics.multi_node.judge import judge
from envbuilder.diagnostics.multi_node.local_run import VirtualHost, WorkerLimits, run_workers
from envbuilder.image.builder import Engine
from envbuilder.image.embedded_lock import lock_inside
from envbuilder.image.running.image_runner import ImageRunner
from envbuilder.oci.runtime.networks import LinkedNetworks, in_network, linked_networks
from envbuilder.oci.runtime.sandbox import Sandbox
from envbuilder.oci.runtime.selection import joining
from envbuilder.wiring.build_inputs import image_runner
from envbuilder.wiring.engines import reference_of
from envbuilder.wiring.session import Session

PORT = 29500


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRequest:
    """The request of the command line.

    Attributes:
        require: Whether a check that is not proven fails the report.
        facts: Directory for the facts of the workers; None to keep none.
    """

    image: str
    workers: int
    limits: WorkerLimits
    require: bool
    facts: Path | None


def local_report(session: Session, asked: LocalRequest) -> Report:
    """Run the workers of an image on this host, and judge their facts.

    Raises:
        UsageError: There is no such image, or no worker wrote facts.
        ToolMissing: This machine has no sandbox or network namespaces.
    """
    started = time.monotonic()
    image = reference_of(session, asked.image, Engine.ASSEMBLE)
    runner = image_runner(session)
    if runner.image(image) is None:
        raise UsageError(
            f"no assembled image {image}",
            hint=f"`envbuilder build {asked.image} --engine assemble`; for another engine, start the program of "
            "`envbuilder multi-node worker` in each container",
        )
    environment = lock_inside(runner, image).environment
    with linked_networks(asked.workers) as networks, _held_open() as (given, stop):
        if networks.shared:
            session.progress(f"the workers share one network namespace: {networks.shared}")
        session.progress(f"starting {asked.workers} workers of {image}")
        hosts = tuple(_hosts(session, runner, networks, given))
        workers = run_workers(image, hosts, asked.limits, stop, session.progress)
    if asked.facts:
        for worker in workers:
            with replacing(asked.facts / f"worker-{worker.facts.index}.json") as stream:
                stream.write(worker.document)
    return judge(
        gather(worker.facts for worker in workers),
        subject=image,
        environment=environment,
        require=asked.require,
        seconds=time.monotonic() - started,
    )


def _hosts(session: Session, runner: ImageRunner, networks: LinkedNetworks, given: IO[bytes]) -> Iterator[VirtualHost]:
    path = session.settings.environ.get("PATH", "")
    sandbox = joining(session.settings.use("work"), path, networks.joined[0])
    for index, (joined, address) in enumerate(zip(networks.joined, networks.addresses, strict=True)):
        inside = in_network(sandbox, joined, given)
        yield VirtualHost(
            name=f"worker-{index}",
            address=address,
            port=PORT + (index if networks.shared else 0),
            runner=replace(runner, sandbox=partial(_same, inside)),
        )


def _same(sandbox: Sandbox) -> Sandbox:
    return sandbox


@contextmanager
def _held_open() -> Iterator[tuple[IO[bytes], Callable[[], None]]]:
    """Return an open file that ends with this process, or when the function beside it is called."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as given, os.fdopen(writing, "wb") as kept:
        yield given, kept.close


def collected_report(files: Sequence[Path], read: Callable[[Path], str], *, require: bool) -> Report:
    """Judge the facts that workers wrote elsewhere.

    Directories have files `worker-*.json`. With `require`, a check that is not proven fails the report.

    Raises:
        UsageError: There are no facts, or two files of one worker.
        InvalidInput: A file has no facts of a worker.
    """
    found = tuple(each for file in files for each in _files(file))
    gathered = gather(decode_worker(read(file), str(file)) for file in found)
    return judge(
        gathered,
        subject=", ".join(map(str, files)),
        environment="",
        require=require,
        seconds=max(worker.seconds for worker in gathered.workers),
    )


def _files(place: Path) -> Sequence[Path]:
    if not place.is_dir():
        return (place,)
    found = sorted(place.glob("worker-*.json"))
    if not found:
        raise UsageError(
            f"{place} has no files worker-*.json", hint="let each worker write its facts there: --facts DIRECTORY"
        )
    return found

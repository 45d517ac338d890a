"""Several workers of one image on this host, each on a host of its own in a virtual network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from envbuilder.core.errors import InvalidInput
from envbuilder.diagnostics.multi_node.facts import WorkerFacts, decode_worker
from envbuilder.diagnostics.probe.containers import Runner
from envbuilder.diagnostics.probe.decoding import PYTHON
from envbuilder.diagnostics.probe.script import worker_source
from envbuilder.oci.runtime.command import RunRequest, RunResult

WORKER_PATH = "/tmp/envbuilder-worker.py"  # noqa: S108  a path in a fresh container, not on this machine
_HOSTS = "/etc/hosts"
_SECONDS_TO_WRITE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualHost:
    """A host of the virtual network.

    Attributes:
        name: Its name, as the workers know it.
    """

    name: str
    address: str
    port: int
    runner: Runner


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLimits:
    """Time limits of a worker, in seconds.

    Attributes:
        meeting: For all workers to reach each other.
        tensorflow: For everything in TensorFlow.
    """

    meeting: float
    tensorflow: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOutput:
    """The output of a worker that wrote facts.

    Attributes:
        document: The same, as the worker wrote them.
    """

    facts: WorkerFacts
    document: bytes


def run_workers(
    image: str,
    hosts: Sequence[VirtualHost],
    limits: WorkerLimits,
    stop: Callable[[], None],
    progress: Callable[[str], None],
) -> tuple[WorkerOutput, ...]:
    """Run one worker on each host at the same time, in their order.

    `stop` ends all workers; it is called if this function is interrupted.

    Returns:
        The output of the workers that wrote facts, in order.

    Raises:
        ToolFailed: A container cannot be run.
    """
    requests = [worker_request(image, hosts, index, limits) for index in range(len(hosts))]
    with ThreadPoolExecutor(len(hosts)) as pool, ExitStack() as interrupted:
        interrupted.callback(stop)
        running = [pool.submit(host.runner.run, request) for host, request in zip(hosts, requests, strict=True)]
        results = [each.result() for each in running]
        interrupted.pop_all()
    return tuple(_reported(hosts, results, progress))


def worker_request(image: str, hosts: Sequence[VirtualHost], index: int, limits: WorkerLimits) -> RunRequest:
    """Return the request for the container of one worker."""
    workers = ",".join(f"{host.name}:{host.port}" for host in hosts)
    names = "".join(f"{host.address} {host.name}\n" for host in hosts)
    return RunRequest(
        image=image,
        command=(
            *(PYTHON, WORKER_PATH, "--workers", workers, "--index", str(index), "--end-with-input"),
            *("--wait", str(limits.meeting), "--limit", str(limits.tensorflow)),
        ),
        files=((WORKER_PATH, worker_source()), (_HOSTS, f"127.0.0.1 localhost\n{names}".encode())),
        network="none",
        timeout=limits.meeting + limits.tensorflow + _SECONDS_TO_WRITE,
    )


def _reported(
    hosts: Sequence[VirtualHost], results: Sequence[RunResult], progress: Callable[[str], None]
) -> Iterator[WorkerOutput]:
    for host, result in zip(hosts, results, strict=True):
        origin = f"the output of {host.name}"
        try:
            facts = decode_worker(result.stdout.decode("utf-8", "replace"), origin)
            yield WorkerOutput(facts=facts, document=result.stdout)
        except InvalidInput:
            stderr_lines = result.stderr.decode("utf-8", "replace").strip().splitlines()
            last = f": {stderr_lines[-1].strip()}" if stderr_lines else ""
            how = "was killed at its time limit" if result.timed_out else f"ended with status {result.status}"
            progress(f"{host.name} {how}, without facts{last}")

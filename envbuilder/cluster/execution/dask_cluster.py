"""Run commands on the workers of a Dask cluster. The only module that imports dask."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from typing import Any

from envbuilder.cluster.execution.commands import run_item, stop_items
from envbuilder.cluster.execution.executor import FailedItem, Lost, Outcome, WorkItem
from envbuilder.cluster.execution.optional_library import optional_library
from envbuilder.cluster.execution.targets import DaskCluster
from envbuilder.core.errors import ToolFailed

_CONNECT = 20.0
_POLL = 1.0
_WITHOUT_WORKERS = 60.0
"""Seconds that a cluster may be without any worker, such as one that starts them when there is work."""


class DaskExecutor:
    """The `Executor` of a Dask cluster.

    Args:
        patience: Seconds that the cluster may be without any worker.
        poll: Seconds between two looks at the commands.
    """

    def __init__(
        self,
        target: DaskCluster,
        distributed: Any,  # noqa: ANN401  the library is optional
        progress: Callable[[str], None],
        *,
        patience: float = _WITHOUT_WORKERS,
        poll: float = _POLL,
    ) -> None:
        self._address = target.address
        self._distributed = distributed
        self._progress = progress
        self._patience = patience
        self._poll = poll

    def map(self, items: Sequence[WorkItem]) -> Generator[Outcome]:
        """See `Executor.map`."""
        call = uuid.uuid4().hex
        client = self._connected()
        try:
            futures = {
                client.submit(run_item, item, call, key=f"envbuilder-{call}-{item.name}", pure=False): item.name
                for item in items
            }
            self._progress(f"{len(futures)} commands sent to {self._address}, {_workers(client)} workers")
            yield from self._ended(client, futures, call)
        finally:
            with suppress(Exception):
                client.close(timeout=_CONNECT)

    def _connected(self) -> Any:  # noqa: ANN401
        try:
            return self._distributed.Client(f"tcp://{self._address}", timeout=_CONNECT, set_as_default=False)
        except (OSError, self._distributed.TimeoutError) as error:
            raise ToolFailed(
                f"the Dask scheduler {self._address} does not answer", hint=f"start it: dask scheduler; {error}"
            ) from error

    def _ended(self, client: Any, futures: dict[Any, str], call: str) -> Iterator[Outcome]:  # noqa: ANN401
        alone_since: float | None = None
        try:
            while futures:
                for future in [each for each in futures if each.status != "pending"]:
                    yield _outcome(futures.pop(future), future, self._distributed)
                if client.status in {"closing", "closed"}:
                    yield from _all_lost(futures, "the connection to the Dask scheduler was lost")
                    futures.clear()
                    return
                now = time.monotonic()
                alone_since = None if _workers(client) else alone_since or now
                if alone_since is not None and now - alone_since >= self._patience:
                    yield from _all_lost(futures, f"the Dask cluster had no worker for {self._patience:.0f} s")
                    return
                time.sleep(self._poll if futures else 0)
        finally:
            if futures:
                _cancel(client, list(futures), call)


def _workers(client: Any) -> int:  # noqa: ANN401
    """Return the number of workers; 0 if the scheduler does not answer."""
    try:
        return len(client.nthreads())
    except OSError:
        return 0


def _all_lost(futures: dict[Any, str], reason: str) -> Iterator[Outcome]:
    for name in futures.values():
        yield Lost(name=name, reason=reason)


def _cancel(client: Any, futures: list[Any], call: str) -> None:  # noqa: ANN401
    """Cancel commands: those that wait are dropped by the scheduler, those that run are stopped on their workers."""
    with suppress(Exception):
        client.cancel(futures, force=True)
    with suppress(Exception):
        client.run(stop_items, call)


def _outcome(name: str, future: Any, distributed: Any) -> Outcome:  # noqa: ANN401
    if future.status == "finished":
        found: Outcome = future.result()
        return found
    if future.status != "error":
        return Lost(name=name, reason=f"the Dask cluster dropped the command ({future.status})")
    error = future.exception()
    if isinstance(error, distributed.KilledWorker):
        return Lost(name=name, reason=f"its workers died, the last one was {error.last_worker.address}")
    return FailedItem(name=name, status=70, reason=f"{type(error).__name__}: {error}", node="")


def open_dask(target: DaskCluster, progress: Callable[[str], None]) -> DaskExecutor:
    """Return the executor of a Dask cluster.

    Raises:
        ToolMissing: dask.distributed is not installed.
    """
    return DaskExecutor(target, optional_library("distributed", "dask"), progress)

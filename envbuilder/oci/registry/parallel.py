"""Parallel transfers; the first failure cancels the others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from envbuilder.oci.registry.failures import TransferStopped
from envbuilder.oci.transfers import Listener, Transfer, ignore

T = TypeVar("T")
R = TypeVar("R")


class TransferState:
    """State shared by parallel transfers: a listener, called by one thread at a time, and a stop flag."""

    def __init__(self, listener: Listener = ignore) -> None:
        self._listener = listener
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def report(self, item: str, current: int, total: int) -> None:
        """Report bytes of an item.

        Raises:
            Stopped: Another transfer has failed.
        """
        if self._stopped.is_set():
            raise TransferStopped("another transfer has failed")
        with self._lock:
            self._listener(Transfer(item=item, current=current, total=total))

    def stop(self) -> None:
        """Cancel all transfers at their next report."""
        self._stopped.set()


def in_parallel(work: Callable[[T], R], items: Sequence[T], *, connections: int, watch: TransferState) -> tuple[R, ...]:
    """Call a function for each item.

    Args:
        work: Called in other threads; must report to the watch regularly, so that it is cancelled if another call
            fails.
        items: The items.
        connections: Threads.
        watch: Stopped at the first failure, or if this thread is interrupted.

    Returns:
        The results in the order of the items.

    Raises:
        Exception: The failure of the first item, in their order, that was not cancelled.
    """
    with ThreadPoolExecutor(max_workers=connections) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            rest = wait(futures, return_when=FIRST_EXCEPTION).not_done
        except BaseException:
            watch.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        if rest:
            watch.stop()
            pool.shutdown(wait=True, cancel_futures=True)
        _raise_first(futures)
        return tuple(future.result() for future in futures)


def _raise_first(futures: Sequence[Future[R]]) -> None:
    failures = [future.exception() for future in futures if not future.cancelled()]
    for failure in failures:
        if failure is not None and not isinstance(failure, TransferStopped):
            raise failure

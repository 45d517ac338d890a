"""Work in a thread of its own, which is abandoned after a deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Pending(Generic[T]):
    """The future result of some work.

    The thread does not keep the process alive: a name lookup, for example, cannot be stopped from outside.

    Args:
        work: The function to run.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._results: list[T] = []
        self._errors: list[Exception] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def result(self, seconds: float, late: T) -> T:
        """Return the result, or `late` after the given seconds; an error of the work is raised here."""
        self._thread.join(max(0.0, seconds))
        for error in self._errors:
            raise error
        return next(iter(self._results), late)

    def _run(self) -> None:
        try:
            self._results.append(self._work())
        except Exception as error:  # noqa: BLE001  raised again by `result`
            self._errors.append(error)

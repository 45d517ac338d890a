"""Work in a thread of its own, which is left behind when it takes too long."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Pending(Generic[T]):
    """A result that may never come.

    The thread does not keep the process alive: looking up a name, for one, cannot be ended from outside.

    Args:
        work: What to do.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._results: list[T] = []
        self._errors: list[Exception] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def result(self, seconds: float, late: T) -> T:
        """What came of it, or `late` when nothing did within some more seconds; its error is raised here."""
        self._thread.join(max(0.0, seconds))
        for error in self._errors:
            raise error
        return next(iter(self._results), late)

    def _run(self) -> None:
        try:
            self._results.append(self._work())
        except Exception as error:  # noqa: BLE001  raised again where the result is wanted
            self._errors.append(error)

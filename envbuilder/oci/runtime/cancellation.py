"""Cancellation of work in threads and of the processes that they wait for."""

from __future__ import annotations

import os
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace

from envbuilder.oci.runtime.command import RunResult
from envbuilder.oci.runtime.processes import Cancellation
from envbuilder.oci.runtime.sandbox import Sandbox, Task


class EventCancellation:
    """`Cancellation` by a kernel event, which wakes all threads that wait for it; thread-safe."""

    def __init__(self) -> None:
        self._is_cancelled = False
        self._event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def cancel(self) -> None:
        """Cancel everything that checks or waits for this, now and later."""
        self._is_cancelled = True
        os.eventfd_write(self._event, 1)

    def check(self) -> None:
        """Raise CancelledError if `cancel` was called.

        Raises:
            CancelledError: It was called.
        """
        if self._is_cancelled:
            raise CancelledError

    def fileno(self) -> int:
        """See `Cancellation.fileno`."""
        return self._event

    def close(self) -> None:
        """Close the event, when no thread waits for it any more."""
        os.close(self._event)


@dataclass(frozen=True, slots=True, kw_only=True)
class CancellableSandbox:
    """`Sandbox` whose processes are killed when they are cancelled.

    Attributes:
        sandbox: Runs the commands.
        cancellation: Ends them.
    """

    sandbox: Sandbox
    cancellation: Cancellation

    @property
    def name(self) -> str:
        """See `Sandbox.name`."""
        return self.sandbox.name

    @property
    def version(self) -> str:
        """See `Sandbox.version`."""
        return self.sandbox.version

    def run(self, task: Task) -> RunResult:
        """See `Sandbox.run`.

        Raises:
            CancelledError: It was cancelled.
        """
        return self.sandbox.run(replace(task, cancellation=self.cancellation))

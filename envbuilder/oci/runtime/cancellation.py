"""Cancellation of work in threads and of the processes that they wait for."""

from __future__ import annotations

import os
from concurrent.futures import CancelledError
from dataclasses import replace

from envbuilder.oci.runtime.processes import Cancellation
from envbuilder.oci.runtime.sandbox import AdaptedSandbox, Sandbox


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


def cancellable_sandbox(sandbox: Sandbox, cancellation: Cancellation) -> Sandbox:
    """Return a sandbox whose processes are killed when they are cancelled; its `run` then raises CancelledError."""
    return AdaptedSandbox(sandbox=sandbox, change=lambda task: replace(task, cancellation=cancellation))

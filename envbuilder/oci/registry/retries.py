"""Repetition of requests to a registry after failures that may pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from envbuilder.core.http.retries import Pacing, Patience
from envbuilder.oci.registry.failures import Interrupted

T = TypeVar("T")


def patiently(pacing: Pacing, ask: Callable[[], T]) -> T:
    """Call a function that may be interrupted, until it succeeds or has failed five times."""
    patience = Patience(pacing)
    while True:
        try:
            return ask()
        except Interrupted as error:
            if not patience.lasts(asked=error.asked, stalled=error.stalled):
                raise

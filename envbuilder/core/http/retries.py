"""Repetition of failed requests: how often, and after which wait."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from envbuilder.core.http.limits import MOST_STALLS, PROGRESS, decimal

TRIES = 5
"""Attempts for a request, or without progress in a transfer; with the waits below about 4 to 8 seconds in all."""

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0
_LONGEST_TOLD = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """Clock and waits of transfers.

    Attributes:
        pause: Waits for a number of seconds.
        jitter: Returns a number from 0 to 1, so that many clients do not return at the same moment.
        clock: Returns seconds since an arbitrary moment; monotonic.
    """

    pause: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic

    def wait(self, failures: int, asked: float | None = None) -> None:
        """Wait before the next attempt.

        Args:
            failures: Number of failures so far, from 1.
            asked: Seconds that the server asked for.
        """
        if asked is not None:
            self.pause(asked)
        else:
            self.pause(min(_FIRST_WAIT * 2 ** (failures - 1), _LONGEST_WAIT) * (0.5 + self.jitter() / 2))


PACING = Pacing()
"""Real clock and waits."""


class Patience:
    """Limit of attempts: five failures without a megabyte of progress.

    After `MOST_STALLS` stalls, fewer attempts are made; `Tolerance` limits the total waiting time.

    Args:
        pacing: Provides waits.
    """

    def __init__(self, pacing: Pacing = PACING) -> None:
        self._pacing = pacing
        self._failures = 0
        self._furthest = 0
        self._stalls = 0

    def lasts(self, *, asked: float | None = None, stalled: bool = False, position: int = 0) -> bool:
        """Wait and return True if another attempt is allowed after a failure.

        Args:
            asked: Seconds to wait that the server asked for and was granted; None if it did not ask.
            stalled: Whether the server sent nothing or too little in time.
            position: Bytes transferred so far.
        """
        if position - self._furthest >= PROGRESS:
            self._failures, self._stalls, self._furthest = 0, 0, position
        self._failures += 1
        self._stalls += stalled
        if self._failures >= TRIES or self._stalls >= MOST_STALLS:
            return False
        self._pacing.wait(self._failures, asked)
        return True


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of `Retry-After`; None if it is missing or invalid.

    A date is relative to the server's own `Date`, so that the clocks need not agree.

    Source: https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3

    Example:
        >>> retry_after({"Retry-After": "7"})
        7.0
        >>> date = "Sat, 21 Nov 2026 08:00:0"
        >>> retry_after({"Retry-After": f"{date}9 GMT", "Date": f"{date}5 GMT"})
        4.0
    """
    asked = headers.get("Retry-After", "").strip()
    if asked.isascii() and asked.isdigit():
        return float(decimal(asked, _LONGEST_TOLD))
    try:
        moments = [parsedate_to_datetime(text) for text in (asked, headers.get("Date", ""))]
        return max((moments[0] - moments[1]).total_seconds(), 0.0)
    except (ValueError, TypeError, OverflowError):  # not a date, or one without a time zone
        return None

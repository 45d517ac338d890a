"""How long to wait before something is tried again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from envbuilder.core.http.limits import MOST_STALLS, PROGRESS, decimal
from envbuilder.oci.registry.failures import Interrupted

TRIES = 5
"""Tries in all, of a request or without progress in a transfer: with the waits below about 4 to 8 seconds."""

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0
_LONGEST_TOLD = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """Time, as far as a transfer depends on it.

    Attributes:
        pause: Waits so many seconds.
        jitter: Gives a number from 0 to 1, so that many clients do not come back at the same moment.
        clock: Seconds since any moment; never goes back.
    """

    pause: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic

    def wait(self, failures: int, asked: float | None = None) -> None:
        """Wait before the next try.

        Args:
            failures: How often it has failed, from 1.
            asked: Seconds that the server asked for.
        """
        if asked is not None:
            self.pause(asked)
        else:
            self.pause(min(_FIRST_WAIT * 2 ** (failures - 1), _LONGEST_WAIT) * (0.5 + self.jitter() / 2))


class Patience:
    """How often something is tried again: until it has failed five times without getting on by a megabyte.

    A registry that stalls `MOST_STALLS` times is given up sooner; `Tolerance` limits what it may make us wait.

    Args:
        pacing: Waits.
    """

    def __init__(self, pacing: Pacing) -> None:
        self._pacing = pacing
        self._failures = 0
        self._furthest = 0
        self._stalls = 0

    def lasts(self, failure: Interrupted, position: int = 0) -> bool:
        """Whether to try again after a failure; has waited then.

        Args:
            failure: What happened.
            position: Bytes of the transfer that are done.
        """
        if position - self._furthest >= PROGRESS:
            self._failures, self._stalls, self._furthest = 0, 0, position
        self._failures += 1
        self._stalls += failure.stalled
        if self._failures >= TRIES or self._stalls >= MOST_STALLS:
            return False
        self._pacing.wait(self._failures, failure.asked)
        return True


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that `Retry-After` asks for; None when it asks for nothing that can be understood.

    A date counts from the server's own `Date`, so that no two clocks have to agree.

    Source: RFC 9110, section 10.2.3.

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
    except (ValueError, TypeError, OverflowError):  # no date, or one without a zone
        return None

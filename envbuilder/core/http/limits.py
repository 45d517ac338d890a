"""Limits on the slowness of servers and the size of their responses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

SECONDS = 20.0
"""Seconds that a server may be silent, or take for the head of a response."""

WINDOW = 12.0
"""Seconds that a body may arrive slower than `LEAST`; two attempts take less than a minute."""

LEAST = 1 << 10
"""Bytes per second, on average over `WINDOW`."""

MOST_STALLS = 2
"""Number of stalls of a server without `PROGRESS` in between."""

PROGRESS = 1 << 20
"""Bytes that count as progress of a transfer."""

MOST_WAITED = 60.0
"""Seconds in all that are waited at a server's request (`Retry-After`)."""


class Stalled(OSError):
    """A server is silent or too slow."""


class ServerAbandoned(Stalled):
    """A server was silent or too slow before, and receives no further requests."""

    def __init__(self) -> None:
        super().__init__("the server was too slow before, and is not asked again")


class TooLong(Exception):
    """A body is larger than its limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the server sent more than {limit} bytes")
        self.limit = limit


class Pace:
    """Speed measurement of a body while it arrives.

    Args:
        clock: Returns seconds since an arbitrary moment; monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = clock()
        self._got = 0

    def got(self, count: int) -> None:
        """Count received bytes.

        Raises:
            Stalled: The body is too slow.
        """
        self._got += count
        passed = self._clock() - self._since
        if passed < WINDOW:
            return
        if self._got < LEAST * passed:
            raise Stalled(f"the server sent only {self._got} bytes in {passed:.0f} seconds")
        self._since, self._got = self._clock(), 0


@dataclass(slots=True)
class _Spent:
    """Used share of a server's tolerance.

    Attributes:
        stalls: Stalls since the last `PROGRESS` bytes.
        stalled: End of the last one.
        got: Bytes since then.
        waited: Seconds waited at its request.
        until: End of the last such wait.
    """

    stalls: int = 0
    stalled: float = 0.0
    got: int = 0
    waited: float = 0.0
    until: float = 0.0


class Tolerance:
    """Tolerance for each server in one run, regardless of the number of requests; thread-safe.

    No further requests are sent to a server after `MOST_STALLS` stalls without `PROGRESS` bytes in between, each in a
    request that began after the previous stall: transfers that fail together count as one stall. It may request
    `MOST_WAITED` seconds of waiting in all; simultaneous waits count once.

    Args:
        clock: Returns seconds since an arbitrary moment; monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._servers: dict[str, _Spent] = {}
        self._lock = threading.Lock()

    def attempt(self, server: str) -> Attempt:
        """Return a new request to a server.

        Raises:
            ServerAbandoned: The server has reached the limit of stalls before.
        """
        with self._lock:
            if self._spent(server).stalls >= MOST_STALLS:
                raise ServerAbandoned
        return Attempt(tolerance=self, server=server, began=self._clock())

    def granted(self, server: str, asked: float) -> float:
        """Return the seconds to wait of those that a server requests (`Retry-After`); 0 if its limit is reached."""
        with self._lock:
            spent, now = self._spent(server), self._clock()
            until = max(spent.until, now)
            more = min(max(now + asked - until, 0.0), MOST_WAITED - spent.waited)
            spent.waited += more
            spent.until = until + more
            return min(asked, spent.until - now)

    def stalled(self, server: str, began: float) -> None:
        """Count a stall of a request that began at a given time."""
        with self._lock:
            spent = self._spent(server)
            if not spent.stalls or began >= spent.stalled:
                spent.stalls, spent.stalled, spent.got = spent.stalls + 1, self._clock(), 0

    def moved(self, server: str, count: int) -> None:
        """Count bytes that were received or sent."""
        with self._lock:
            spent = self._spent(server)
            spent.got += count
            if spent.got >= PROGRESS:
                spent.stalls, spent.got = 0, 0

    def _spent(self, server: str) -> _Spent:
        return self._servers.setdefault(server, _Spent())


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request to a server.

    Attributes:
        tolerance: Receives stalls and progress.
        began: Start, by the clock of `tolerance`.
    """

    tolerance: Tolerance
    server: str
    began: float

    def moved(self, count: int) -> None:
        """Count bytes that were received or sent."""
        self.tolerance.moved(self.server, count)

    def stalled(self) -> None:
        """Count a stall."""
        self.tolerance.stalled(self.server, self.began)


class Body(Protocol):
    """A readable body."""

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""
        ...


def whole(body: Body, limit: int) -> bytes:
    """Return a body of limited size.

    Raises:
        TooLong: It exceeds the limit.
    """
    parts, left = [], limit + 1
    while left and (part := body.read(left)):
        parts.append(part)
        left -= len(part)
    if not left:
        raise TooLong(limit)
    return b"".join(parts)


def decimal(header: str | None, most: int) -> int:
    r"""Return the number in a header such as `Content-Length` or `Retry-After`; 0 if it has none.

    Args:
        header: Its value; None if it is missing.
        most: Returned for larger numbers.

    Example:
        >>> decimal("7", 60), decimal("9" * 5000, 60), decimal("-5", 60), decimal("\xb2", 60), decimal(None, 60)
        (7, 60, 0, 0, 0)
    """
    text = (header or "").lstrip("0")
    if not text.isascii() or not text.isdigit():
        return 0
    return most if len(text) > len(str(most)) else min(int(text), most)

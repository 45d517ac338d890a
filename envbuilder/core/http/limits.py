"""How slow servers and how long their answers may be."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

SECONDS = 20.0
"""Seconds that a server may be silent, or take for the head of an answer."""

WINDOW = 12.0
"""Seconds that a body may arrive slower than `LEAST`: two tries take less than a minute."""

LEAST = 1 << 10
"""Bytes in a second, on average over `WINDOW`."""

MOST_STALLS = 2
"""How often a server may stall without `PROGRESS` in between."""

PROGRESS = 1 << 20
"""Bytes after which a transfer counts as one that gets on."""

MOST_WAITED = 60.0
"""Seconds that are waited in all because a server asks for it (`Retry-After`)."""


class Stalled(OSError):
    """A server is silent or too slow."""


class GivenUp(Stalled):
    """A server was silent or too slow before, and is not asked again."""

    def __init__(self) -> None:
        super().__init__("it was too slow before, and is not asked again")


class TooLong(Exception):
    """A body has more bytes than it may have."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the server sent more than {limit} bytes")
        self.limit = limit


class Pace:
    """Measures a body while it arrives.

    Args:
        clock: Seconds since any moment; never goes back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = clock()
        self._got = 0

    def got(self, count: int) -> None:
        """Count bytes that have just arrived.

        Raises:
            Stalled: They come too slowly.
        """
        self._got += count
        passed = self._clock() - self._since
        if passed < WINDOW:
            return
        if self._got < LEAST * passed:
            raise Stalled(f"it sent only {self._got} bytes in {passed:.0f} seconds")
        self._since, self._got = self._clock(), 0


@dataclass(slots=True)
class _Spent:
    """What a server has spent of what is tolerated.

    Attributes:
        stalls: Stalls since the last `PROGRESS` bytes.
        stalled: When the last one ended.
        got: Bytes since then.
        waited: Seconds that were waited because it asked for it.
        until: When the last such wait ends.
    """

    stalls: int = 0
    stalled: float = 0.0
    got: int = 0
    waited: float = 0.0
    until: float = 0.0


class Tolerance:
    """What is tolerated of each server in one run, whatever the number of requests; may be used by several threads.

    A server is given up when it stalls `MOST_STALLS` times without `PROGRESS` bytes in between, each time in a request
    that began after the time before: transfers that break off together are one stall. It may ask for `MOST_WAITED`
    seconds of waiting in all; waits at the same time count once.

    Args:
        clock: Seconds since any moment; never goes back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._servers: dict[str, _Spent] = {}
        self._lock = threading.Lock()

    def attempt(self, server: str) -> Attempt:
        """Return a new request to a server.

        Raises:
            GivenUp: The server was given up before.
        """
        with self._lock:
            if self._spent(server).stalls >= MOST_STALLS:
                raise GivenUp
        return Attempt(tolerance=self, server=server, began=self._clock())

    def granted(self, server: str, asked: float) -> float:
        """Return the seconds to wait of those that a server asks for (`Retry-After`); 0 when it has spent its share."""
        with self._lock:
            spent, now = self._spent(server), self._clock()
            until = max(spent.until, now)
            more = min(max(now + asked - until, 0.0), MOST_WAITED - spent.waited)
            spent.waited += more
            spent.until = until + more
            return min(asked, spent.until - now)

    def stalled(self, server: str, began: float) -> None:
        """Count a stall of a request that began at a moment."""
        with self._lock:
            spent = self._spent(server)
            if not spent.stalls or began >= spent.stalled:
                spent.stalls, spent.stalled, spent.got = spent.stalls + 1, self._clock(), 0

    def moved(self, server: str, count: int) -> None:
        """Count bytes that arrived, or that the server took."""
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
        tolerance: Told about stalls and progress.
        server: Which server.
        began: When, by the clock of `tolerance`.
    """

    tolerance: Tolerance
    server: str
    began: float

    def moved(self, count: int) -> None:
        """Count bytes that arrived, or that the server took."""
        self.tolerance.moved(self.server, count)

    def stalled(self) -> None:
        """Count a stall."""
        self.tolerance.stalled(self.server, self.began)


class Body(Protocol):
    """What can be read."""

    def read(self, size: int) -> bytes:
        """Return the next bytes, no more than `size`; none at the end."""
        ...


def whole(body: Body, limit: int) -> bytes:
    """Return a body that may have so many bytes.

    Raises:
        TooLong: It has more.
    """
    parts, left = [], limit + 1
    while left and (part := body.read(left)):
        parts.append(part)
        left -= len(part)
    if not left:
        raise TooLong(limit)
    return b"".join(parts)


def decimal(header: str | None, most: int) -> int:
    r"""Return the number of a header such as `Content-Length` or `Retry-After`; 0 when it has none.

    Args:
        header: Its value; None when it is missing.
        most: Returned for larger numbers.

    Example:
        >>> decimal("7", 60), decimal("9" * 5000, 60), decimal("-5", 60), decimal("\xb2", 60), decimal(None, 60)
        (7, 60, 0, 0, 0)
    """
    text = (header or "").lstrip("0")
    if not text.isascii() or not text.isdigit():
        return 0
    return most if len(text) > len(str(most)) else min(int(text), most)

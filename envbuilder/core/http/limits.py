"""How slow and how long the body of an answer may be."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

SECONDS = 20.0
"""Seconds that a server may be silent, or take for the head of an answer."""

WINDOW = 12.0
"""Seconds that a body may arrive slower than `LEAST`: two tries take less than a minute."""

LEAST = 1 << 10
"""Bytes in a second, on average over `WINDOW`."""

MOST_STALLS = 2
"""How often a transfer that stalls is taken up again, the first time included."""

MOST_WAITED = 60.0
"""Seconds that are waited in all because a server asks for it (`Retry-After`)."""


class Stalled(OSError):
    """A server is silent or too slow."""


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


class Stalls:
    """Servers that are given up for the rest of a run; may be used by several threads.

    A server is given up when it stalls `MOST_STALLS` times, each time in a request that began after the time before:
    transfers that break off together are one stall.

    Args:
        clock: Seconds since any moment; never goes back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[int, float]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def watched(self, server: str) -> Iterator[None]:
        """Count a stall of the block, and forget the earlier ones when it ends well.

        Raises:
            Stalled: The server was given up before; the block is not run.
        """
        count, _ = self._seen.get(server, (0, 0.0))
        if count >= MOST_STALLS:
            raise Stalled("it was too slow before, and is not asked again")
        began = self._clock()
        try:
            yield
        except Stalled:
            with self._lock:
                count, last = self._seen.get(server, (0, began))
                if began >= last:
                    self._seen[server] = (count + 1, self._clock())
            raise
        with self._lock:
            self._seen.pop(server, None)


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

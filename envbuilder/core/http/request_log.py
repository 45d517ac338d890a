"""Log of requests, under the logger of this module."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from envbuilder.core.errors import without_logins


@contextmanager
def logged(method: str, url: str) -> Iterator[Callable[[int], None]]:
    """Log a request when the block ends, with the level DEBUG; the block receives a function for the status.

    The record has `method`, `url` (without credentials and query, which may be a signature), `status` (None without a
    response) and `seconds`.
    """
    import logging  # noqa: PLC0415  urllib3 imports it, too

    began = time.monotonic()
    status: list[int] = []
    try:
        yield status.append
    finally:
        fields = {
            "method": method,
            "url": without_logins(url.partition("?")[0]),
            "status": status[-1] if status else None,
            "seconds": round(time.monotonic() - began, 3),
        }
        logging.getLogger(__name__).debug("%(method)s %(url)s", fields, extra=fields)

"""HTTP client: kept connections, proxies, certificates, and limits on slow servers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from envbuilder import __version__
from envbuilder.core.http.failures import BadAddress, is_stalled, words_of
from envbuilder.core.http.limits import SECONDS, Attempt, Pace, Stalled, Tolerance
from envbuilder.core.http.origins import origin
from envbuilder.core.http.proxies import proxy_for
from envbuilder.core.http.request_log import logged
from envbuilder.core.http.trust import trust

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse, PoolManager, ProxyManager

MOST_REDIRECTS = 5
_USER_AGENT = f"envbuilder/{__version__}"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CONNECT = 20.0
_DRAINED = 1 << 16
"""Maximum of unread bytes that are read so that the connection can be reused."""


class Response:
    """A response whose body is read as it arrives, so that a slow server is detected.

    Attributes:
        headers: Headers; names are case-insensitive.
    """

    def __init__(self, response: BaseHTTPResponse, url: str, attempt: Attempt, pace: Pace) -> None:
        self._response = response
        self._attempt = attempt
        self._pace = pace
        self._broken = False
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self.url = url

    @property
    def redirect(self) -> str:
        """Target of a redirect, as the server writes it; empty if it is not a redirect."""
        return self.headers.get("Location", "") if self.status in _REDIRECTS else ""

    def all_of(self, header: str) -> tuple[str, ...]:
        """Return the values of a header that may occur several times."""
        return tuple(self._response.headers.getlist(header))

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; none at the end.

        Raises:
            OSError: The connection failed; `Stalled` if it is too slow. The message contains no address.
        """
        self._broken = True
        with _as_os_errors(self._attempt):
            found = self._response.read1(size, decode_content=False)
            if found:
                self._pace.got(len(found))
                self._attempt.moved(len(found))
        self._broken = False
        return found

    def close(self, *, keep: bool = True) -> None:
        """Return the connection to the pool, or close it if much of the body is unread.

        Args:
            keep: Read a short rest of the body, so that the connection can be reused.
        """
        rest = self._response.length_remaining
        if keep and not self._broken and rest is not None and rest <= _DRAINED:
            with suppress(OSError):
                while self.read(_DRAINED):
                    pass
        self._response.close()


class Client:
    """Sender of requests without retries; thread-safe.

    Args:
        environ: Proxies (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`) and certificates (`CA_VARIABLES`).
        clock: Returns seconds since an arbitrary moment; monotonic.
    """

    def __init__(self, environ: Mapping[str, str], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._environ = environ
        self._clock = clock
        self._tolerance = Tolerance(clock)
        self._pools: dict[tuple[str, bool], PoolManager | ProxyManager] = {}
        self._lock = threading.Lock()

    def send(  # noqa: PLR0913  the parts of a request
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        *,
        body: bytes | Iterator[bytes] | None = None,
        length: int = 0,
        seconds: float = SECONDS,
        total: float | None = None,
    ) -> Response:
        """Send a request, and return the head of the response; redirects are not followed.

        Args:
            method: Such as `GET`.
            url: Absolute, without user and password.
            headers: Headers of the request.
            body: Body of the request.
            length: Bytes of the body.
            seconds: Seconds until the first byte of the response.
            total: Seconds in all, for the connection and the head of the response; None for no limit of its own.

        Raises:
            OSError: No response. The message contains no address.
            BadAddress: The address is invalid.
            Stalled: The server is silent; `GivenUp` if it has reached the limit of stalls before.
            UsageError: Proxy or certificates of the environment are invalid.
        """
        from urllib3 import Timeout  # noqa: PLC0415  its import takes 70 ms

        attempt = self._tolerance.attempt(_server_of(url))
        pool = self._pool(url)
        with logged(method, url) as answered, _as_os_errors(attempt):
            try:
                response = pool.request(
                    method,
                    url,
                    headers={"User-Agent": _USER_AGENT, "Accept-Encoding": "identity", **headers},
                    body=body,
                    redirect=False,
                    retries=False,  # The caller retries, since it can resume.
                    preload_content=False,
                    decode_content=False,
                    timeout=Timeout(connect=_CONNECT, read=seconds, total=total),
                )
            except ValueError:  # a part of the host is too long
                raise BadAddress from None
            answered(response.status)
        attempt.moved(length)
        return Response(response, url, attempt, Pace(self._clock))

    def granted(self, url: str, asked: float) -> float:
        """Return the seconds to wait of those that a server requests; 0 if `MOST_WAITED` is reached."""
        return self._tolerance.granted(_server_of(url), asked)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for pool in self._pools.values():
                pool.clear()
            self._pools.clear()

    def _pool(self, url: str) -> PoolManager | ProxyManager:
        from envbuilder.core.http.connections import opened_pool  # noqa: PLC0415  imports urllib3, as above

        proxy = proxy_for(url, self._environ)
        secure = urlsplit(url).scheme == "https"
        with self._lock:
            if (proxy, secure) not in self._pools:
                # Reading the certificates takes 30 ms.
                self._pools[proxy, secure] = opened_pool(proxy, trust(self._environ) if secure else None)
            return self._pools[proxy, secure]


def _server_of(url: str) -> str:
    try:
        return origin(url)
    except ValueError:
        raise BadAddress from None


@contextmanager
def _as_os_errors(attempt: Attempt) -> Iterator[None]:
    """Translate the failures of a connection, without the original messages, which contain addresses."""
    from urllib3 import exceptions  # noqa: PLC0415  its import takes 70 ms

    try:
        yield
    except BadAddress:
        raise
    except (exceptions.HTTPError, OSError) as error:
        if not is_stalled(error):
            raise OSError(words_of(error)) from None
        attempt.stalled()
        raise Stalled(words_of(error)) from None

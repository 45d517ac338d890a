"""Requests for downloads: connections are kept, redirects are followed, credentials stay with their origin."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol
from urllib.parse import unquote, urljoin, urlsplit

from envbuilder.core.http.credentials import Logins
from envbuilder.core.http.failures import NO_ADDRESS, is_stalled, words_of
from envbuilder.core.http.limits import SECONDS, Attempt, Pace, Stalled, Tolerance
from envbuilder.core.http.origins import origin, scheme_of, without_login
from envbuilder.core.http.pools import USER_AGENT, opened_pool
from envbuilder.core.http.proxies import proxy_for
from envbuilder.core.http.trust import trust

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse, PoolManager, ProxyManager

_CONNECT = 20.0
_MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class Answer(Protocol):
    """What a server sends."""

    @property
    def status(self) -> int:
        """HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers; names in any case."""
        ...

    def read(self, size: int) -> bytes:
        """Return the next bytes, no more than `size`; none at the end."""
        ...


class Web:
    """Sends requests that only read; may be used by several threads.

    Args:
        environ: Proxies (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`) and certificates (`CA_VARIABLES`).
        logins: Credentials.
        clock: Seconds since any moment; never goes back.
    """

    def __init__(
        self, environ: Mapping[str, str], logins: Logins | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._environ = environ
        self._logins = logins or Logins()
        self._pools: dict[tuple[str, bool], PoolManager | ProxyManager] = {}
        self._lock = threading.Lock()
        self._clock = clock
        self._tolerance = Tolerance(clock)

    @contextmanager
    def asked(self, url: str, headers: Mapping[str, str], *, method: str = "GET") -> Iterator[Answer]:
        """Yield the answer of a server, whatever its status, or a local file; redirects are followed.

        Raises:
            OSError: No answer, or it broke off. The message holds no address.
            Stalled: The server is silent, or slower than `LEAST`, or was so before.
            UsageError: Proxy or certificates of the environment cannot be used.
        """
        if scheme_of(url) == "file":
            with Path(unquote(urlsplit(url).path)).open("rb") as stream:
                yield _FileAnswer(stream)
            return
        attempt = self._tolerance.attempt(_server_of(url))
        with _as_os_errors(attempt):
            response = self._answered(url, headers, method)
            try:
                yield _WebAnswer(response, Pace(self._clock), attempt)
            finally:
                # A connection whose answer was not read to its end cannot be used again.
                (response.release_conn if method == "HEAD" or response.length_remaining == 0 else response.close)()

    def granted(self, url: str, asked: float) -> float:
        """Return the seconds to wait of those that a server asks for; 0 when it has spent `MOST_WAITED`."""
        return self._tolerance.granted(_server_of(url), asked)

    def _answered(self, url: str, headers: Mapping[str, str], method: str) -> BaseHTTPResponse:
        try:
            return self._followed(url, headers, method)
        except ValueError:  # its port, its host, or brackets without an end
            raise OSError("its address cannot be used") from None

    def _followed(self, url: str, headers: Mapping[str, str], method: str) -> BaseHTTPResponse:
        for _ in range(_MOST_REDIRECTS + 1):
            response = self._sent(url, headers, method)
            place = response.headers.get("Location", "")
            if response.status not in _REDIRECTS or not place:
                return response
            response.close()
            url = _redirected(url, place)
        raise OSError("too many redirects")

    def _sent(self, url: str, headers: Mapping[str, str], method: str) -> BaseHTTPResponse:
        from urllib3 import Timeout  # noqa: PLC0415  see above

        login = self._logins.find(url)
        own = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
        return self._pool(url).request(
            method,
            without_login(url),
            headers={**own, **headers, **({"Authorization": login.authorization} if login else {})},
            redirect=False,
            retries=False,  # The caller tries again: it knows how much it has already.
            preload_content=False,
            decode_content=False,
            timeout=Timeout(connect=_CONNECT, read=SECONDS),
        )

    def _pool(self, url: str) -> PoolManager | ProxyManager:
        proxy = proxy_for(url, self._environ)
        secure = urlsplit(url).scheme == "https"
        with self._lock:
            if (proxy, secure) not in self._pools:
                # Reading the certificates takes 30 ms.
                self._pools[proxy, secure] = opened_pool(proxy, trust(self._environ) if secure else None)
            return self._pools[proxy, secure]


@contextmanager
def _as_os_errors(attempt: Attempt) -> Iterator[None]:
    from urllib3 import exceptions  # noqa: PLC0415  its import takes 70 ms

    try:
        yield
    except (exceptions.HTTPError, Stalled) as error:
        if not is_stalled(error):
            raise OSError(words_of(error)) from None
        attempt.stalled()
        raise Stalled(words_of(error)) from None


def _server_of(url: str) -> str:
    try:
        return origin(url)
    except ValueError:
        raise OSError("its address cannot be used") from None


def _redirected(url: str, place: str) -> str:
    """The address that an answer redirects to."""
    try:
        found = urljoin(without_login(url), place)
    except ValueError:
        raise OSError(NO_ADDRESS) from None
    if not scheme_of(found):
        raise OSError(NO_ADDRESS)
    if scheme_of(found) not in {"http", "https"}:
        raise OSError("it redirects to an address that is not http")
    return found


class _WebAnswer:
    """The answer of a server, read as it arrives, so that a slow one is noticed."""

    def __init__(self, response: BaseHTTPResponse, pace: Pace, attempt: Attempt) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self._response = response
        self._pace = pace
        self._attempt = attempt

    def read(self, size: int) -> bytes:
        found = self._response.read1(size, decode_content=False)
        if found:
            self._pace.got(len(found))
            self._attempt.moved(len(found))
        return found


class _FileAnswer:
    """A local file as an answer."""

    status = 200

    def __init__(self, stream: BinaryIO) -> None:
        self.headers: Mapping[str, str] = {}
        self._stream = stream

    def read(self, size: int) -> bytes:
        return self._stream.read(size)

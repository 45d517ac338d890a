"""Requests for downloads: connections are kept, redirects are followed, credentials stay with their origin."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast
from urllib.parse import unquote, urljoin, urlsplit

from envbuilder.http.credentials import Logins
from envbuilder.http.failures import words_of
from envbuilder.http.origins import without_login
from envbuilder.http.pools import USER_AGENT, opened_pool
from envbuilder.http.proxies import proxy_for
from envbuilder.http.trust import trust

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse, PoolManager, ProxyManager

_CONNECT, _READ = 20.0, 60.0
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
        """Return the next bytes; none at the end."""
        ...


class Web:
    """Sends requests that only read; may be used by several threads.

    Args:
        environ: Proxies (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`) and certificates (`CA_VARIABLES`).
        logins: Credentials.
    """

    def __init__(self, environ: Mapping[str, str], logins: Logins | None = None) -> None:
        self._environ = environ
        self._logins = logins or Logins()
        self._pools: dict[tuple[str, bool], PoolManager | ProxyManager] = {}
        self._lock = threading.Lock()

    @contextmanager
    def asked(self, url: str, headers: Mapping[str, str], *, method: str = "GET") -> Iterator[Answer]:
        """Yield the answer of a server, whatever its status, or a local file; redirects are followed.

        Raises:
            OSError: No answer, or it broke off. The message holds no address.
            UsageError: Proxy or certificates of the environment cannot be used.
        """
        if urlsplit(url).scheme == "file":
            with Path(unquote(urlsplit(url).path)).open("rb") as stream:
                yield _FileAnswer(stream)
            return
        from urllib3 import exceptions  # noqa: PLC0415  its import takes 70 ms

        try:
            response = self._followed(url, headers, method)
            try:
                yield cast("Answer", response)
            finally:
                # A connection whose answer was not read to its end cannot be used again.
                (response.release_conn if method == "HEAD" or response.length_remaining == 0 else response.close)()
        except exceptions.HTTPError as error:
            raise OSError(words_of(error)) from None

    def _followed(self, url: str, headers: Mapping[str, str], method: str) -> BaseHTTPResponse:
        for _ in range(_MOST_REDIRECTS + 1):
            response = self._sent(url, headers, method)
            place = response.headers.get("Location", "")
            if response.status not in _REDIRECTS or not place:
                return response
            response.close()
            url = urljoin(without_login(url), place)
            if urlsplit(url).scheme not in {"http", "https"}:
                raise OSError("it redirects to an address that is not http")
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
            timeout=Timeout(connect=_CONNECT, read=_READ),
        )

    def _pool(self, url: str) -> PoolManager | ProxyManager:
        proxy = proxy_for(url, self._environ)
        secure = urlsplit(url).scheme == "https"
        with self._lock:
            if (proxy, secure) not in self._pools:
                # Reading the certificates takes 30 ms.
                self._pools[proxy, secure] = opened_pool(proxy, trust(self._environ) if secure else None)
            return self._pools[proxy, secure]


class _FileAnswer:
    """A local file as an answer."""

    status = 200

    def __init__(self, stream: BinaryIO) -> None:
        self.headers: Mapping[str, str] = {}
        self._stream = stream

    def read(self, size: int) -> bytes:
        return self._stream.read(size)

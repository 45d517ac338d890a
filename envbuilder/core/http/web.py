"""Download requests with kept connections, redirects, and credentials limited to their origin."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol
from urllib.parse import unquote, urljoin, urlsplit

from envbuilder.core.http.client import MOST_REDIRECTS, Client, Response
from envbuilder.core.http.credentials import Logins
from envbuilder.core.http.failures import NO_ADDRESS, BadAddress
from envbuilder.core.http.origins import scheme_of, without_login


class WebResponse(Protocol):
    """A response."""

    @property
    def status(self) -> int:
        """HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers; names are case-insensitive."""
        ...

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""
        ...


class Web:
    """Sender of requests that only read; thread-safe.

    Args:
        environ: As for `Client`.
        logins: Credentials.
        clock: Returns seconds since an arbitrary moment; monotonic.
    """

    def __init__(
        self, environ: Mapping[str, str], logins: Logins | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = Client(environ, clock=clock)
        self._logins = logins or Logins()

    @contextmanager
    def asked(self, url: str, headers: Mapping[str, str], *, method: str = "GET") -> Iterator[WebResponse]:
        """Yield the response of a server, whatever its status, or a local file; follow redirects.

        Raises:
            OSError: No response, or an incomplete one. The message contains no address.
            Stalled: The server is silent, or slower than `LEAST`, or was so before.
            UsageError: Proxy or certificates of the environment are invalid.
        """
        if scheme_of(url) == "file":
            with Path(unquote(urlsplit(url).path)).open("rb") as stream:
                yield _FileResponse(stream)
            return
        response = self._followed(url, headers, method)
        try:
            yield response
        finally:
            response.close()

    def granted(self, url: str, asked: float) -> float:
        """Return the seconds to wait of those that a server requests; 0 if `MOST_WAITED` is reached."""
        return self._client.granted(url, asked)

    def _followed(self, url: str, headers: Mapping[str, str], method: str) -> Response:
        if not scheme_of(url):
            raise BadAddress
        for _ in range(MOST_REDIRECTS + 1):
            login = self._logins.find(url)
            own = {"Authorization": login.authorization} if login else {}
            response = self._client.send(method, without_login(url), {**headers, **own})
            if not response.redirect:
                return response
            response.close()
            url = _redirected(url, response.redirect)
        raise OSError("too many redirects")


def _redirected(url: str, place: str) -> str:
    """Return the address that a response redirects to."""
    try:
        found = urljoin(without_login(url), place)
    except ValueError:
        raise BadAddress(NO_ADDRESS) from None
    if not scheme_of(found):
        raise BadAddress(NO_ADDRESS)
    if scheme_of(found) not in {"http", "https"}:
        raise OSError("the server redirects to an address that is not http")
    return found


class _FileResponse:
    """A local file as a response."""

    status = 200

    def __init__(self, stream: BinaryIO) -> None:
        self.headers: Mapping[str, str] = {}
        self._stream = stream

    def read(self, size: int) -> bytes:
        return self._stream.read(size)

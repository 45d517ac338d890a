"""One request over http: connections, proxies, certificates, redirects; every failure as one of ours."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias
from urllib.parse import urljoin, urlsplit

from envbuilder.core.errors import SourceUnreachable
from envbuilder.core.files import CHUNK
from envbuilder.core.http.failures import BROKE, CERTIFICATE, CLOCK, CLOCK_HINT, is_stalled, words_of
from envbuilder.core.http.limits import MOST_WAITED, SECONDS, Attempt, Pace, Stalled, Tolerance, TooLong, decimal, whole
from envbuilder.core.http.origins import is_loopback, origin
from envbuilder.core.http.pools import USER_AGENT, opened_pool
from envbuilder.core.http.proxies import proxy_for
from envbuilder.core.http.trust import trust
from envbuilder.oci.registry.failures import Interrupted, said
from envbuilder.oci.registry.retries import retry_after

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse, PoolManager, ProxyManager, Timeout

Body: TypeAlias = bytes | Callable[[], Iterator[bytes]] | None
"""Bytes, or what gives them anew for each try; `Content-Length` is among the headers then."""

_MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CONNECT_SECONDS = 20.0
_LONGEST_ERROR = 1 << 16
_MOST_SENT = 1 << 50  # more than any body has
_LATER_HINT = "try again later, or use another registry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is sent.

    Attributes:
        method: Such as `GET`.
        url: Absolute.
        subject: What it is about, in words for errors: addresses can hold secrets.
        local: Whether the registry is on this machine, so that this machine may be asked by plain http.
        headers: Without those of `authorization`.
        authorization: Value of that header, sent to the url's own origin and not to where it redirects.
        body: What to send.
        secrets: Texts that no error may repeat, even if the answer does.
        seconds: Seconds until the first byte of the answer.
    """

    method: str
    url: str
    subject: str
    local: bool
    headers: tuple[tuple[str, str], ...] = ()
    authorization: str = ""
    body: Body = None
    secrets: tuple[str, ...] = ()
    seconds: float = SECONDS


class Answer:
    """What came back; its body is not read yet.

    Attributes:
        status: HTTP status.
        headers: Case does not matter.
        url: Whose answer this is, after redirects.
        subject: As in the request.
    """

    def __init__(self, response: BaseHTTPResponse, request: Request, url: str, attempt: Attempt, pace: Pace) -> None:
        self._response = response
        self._attempt = attempt
        self._pace = pace
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self.url = url
        self.subject = request.subject

    @property
    def challenges(self) -> tuple[str, ...]:
        """The values of `WWW-Authenticate`."""
        return tuple(self._response.headers.getlist("WWW-Authenticate"))

    @property
    def location(self) -> str:
        """`Location`, made absolute; empty when there is none.

        Raises:
            SourceUnreachable: It is no address.
        """
        place = self.headers.get("Location", "")
        try:
            found = urljoin(self.url, place) if place else ""
            origin(found)
        except ValueError:
            raise unusable(self.subject) from None
        return found

    def chunks(self) -> Iterator[bytes]:
        """The body in pieces of a megabyte.

        Raises:
            Interrupted: The connection broke before its end.
        """
        while chunk := self.read(CHUNK):
            yield chunk

    def read(self, size: int) -> bytes:
        """Return the next bytes, no more than `size`; none at the end.

        Raises:
            Interrupted: The connection broke before the end, or is too slow.
        """
        with _as_ours(self.subject, self._attempt):
            found = self._response.read1(size, decode_content=False)
            if found:
                self._pace.got(len(found))
                self._attempt.moved(len(found))
            return found

    def content(self, limit: int) -> bytes:
        """The whole body.

        Args:
            limit: Bytes that it may have.

        Raises:
            Interrupted: The connection broke before its end.
            SourceUnreachable: It is longer.
        """
        try:
            return whole(self, limit)
        except TooLong as error:
            raise SourceUnreachable(f"{self.subject}: {error}", hint="this is no registry, or no image") from error

    def start(self, length: int) -> bytes:
        """The first bytes of the body."""
        parts = []
        while length and (part := self.read(length)):
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        """Give the connection back, or close it when much of the body was not read."""
        rest = self._response.length_remaining
        if rest is not None and rest <= _LONGEST_ERROR:
            self._response.drain_conn()
        self._response.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class Transport:
    """Sends requests; may be used by several threads.

    Args:
        environ: Proxies (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`) and certificates (`CA_VARIABLES`).
        clock: Seconds since any moment; never goes back.
    """

    def __init__(self, environ: Mapping[str, str], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._environ = environ
        self._clock = clock
        self._tolerance = Tolerance(clock)
        self._pools: dict[tuple[str, bool], PoolManager | ProxyManager] = {}
        self._lock = threading.Lock()

    def send(self, request: Request) -> Answer:
        """Send a request, once, and follow redirects of one that only reads.

        Raises:
            Interrupted: No answer, or one that asks to come back later (429, 5xx).
            SourceUnreachable: Its address, or where it redirects to, may not be used.
            UsageError: Proxy or CA bundle of the environment cannot be used.
        """
        url = request.url
        for _ in range(_MOST_REDIRECTS):
            answer = self._exchanged(request, url)
            if answer.status not in _REDIRECTS or request.method not in {"GET", "HEAD"} or not answer.location:
                return self._settled(answer, request)
            url = answer.location
            answer.close()
        raise SourceUnreachable(f"{request.subject}: too many redirects", hint="ask the registry's operator")

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for pool in self._pools.values():
                pool.clear()
            self._pools.clear()

    def _exchanged(self, request: Request, url: str) -> Answer:
        _require_safe(request, url)
        headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity", **dict(request.headers)}
        if request.authorization and origin(url) == origin(request.url):
            headers["Authorization"] = request.authorization
        pool = self._pool(url)
        attempt = self._attempt(request, url)
        with _as_ours(request.subject, attempt):
            response = pool.request(
                request.method,
                url,
                headers=headers,
                body=request.body() if callable(request.body) else request.body,
                redirect=False,
                retries=False,
                preload_content=False,
                timeout=_timeout(request.seconds),
            )
        attempt.moved(_sent(request))
        return Answer(response, request, url, attempt, Pace(self._clock))

    def _attempt(self, request: Request, url: str) -> Attempt:
        try:
            return self._tolerance.attempt(origin(url))
        except Stalled as error:
            raise SourceUnreachable(f"{request.subject}: {error}", hint=_LATER_HINT) from None

    def _settled(self, answer: Answer, request: Request) -> Answer:
        """Return an answer that is one; wait for no server longer than `MOST_WAITED` in all."""
        if answer.status != 429 and answer.status < 500:
            return answer
        with answer:
            words = f"{request.subject}: {said(answer.status, answer.start(_LONGEST_ERROR), request.secrets)}"
        asked = retry_after(answer.headers)
        if not asked:
            raise Interrupted(words, asked=asked, hint="try again later")
        granted = self._tolerance.granted(origin(answer.url), asked)
        if not granted:
            words += f", and {urlsplit(answer.url).netloc} has made us wait for {MOST_WAITED:.0f} seconds already"
            raise SourceUnreachable(words, hint=_LATER_HINT)
        raise Interrupted(words, asked=granted, hint="try again later")

    def _pool(self, url: str) -> PoolManager | ProxyManager:
        proxy = proxy_for(url, self._environ)
        secure = urlsplit(url).scheme == "https"
        with self._lock:
            if (proxy, secure) not in self._pools:
                # Reading the certificates takes 30 ms.
                self._pools[proxy, secure] = opened_pool(proxy, trust(self._environ) if secure else None)
            return self._pools[proxy, secure]


def _require_safe(request: Request, url: str) -> None:
    """Plain http only with this machine, and nobody else may send us there."""
    try:
        parts = urlsplit(url)
        origin(url)
    except ValueError:  # its port, its host, or brackets without an end
        raise unusable(request.subject) from None
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme == "http" and request.local and is_loopback(parts.netloc):
        return
    raise SourceUnreachable(
        f"{request.subject}: the registry sends us to an address without https",
        hint="a proxy before the registry has to tell it the outer scheme (X-Forwarded-Proto); ask its operator",
    )


def unusable(subject: str) -> SourceUnreachable:
    """The error for an address that is none."""
    return SourceUnreachable(
        f"{subject}: the registry sends us to an address that cannot be used", hint="ask the registry's operator"
    )


def _timeout(seconds: float) -> Timeout:
    from urllib3 import Timeout  # noqa: PLC0415  see above

    return Timeout(connect=_CONNECT_SECONDS, read=seconds)


def _sent(request: Request) -> int:
    """Return the bytes of the body of a request."""
    if isinstance(request.body, bytes):
        return len(request.body)
    return decimal(dict(request.headers).get("Content-Length"), _MOST_SENT)


@contextmanager
def _as_ours(subject: str, attempt: Attempt) -> Iterator[None]:
    """Turns the failures of a connection into ours, in words of our own: theirs hold addresses."""
    from urllib3 import exceptions  # noqa: PLC0415  see above

    try:
        yield
    except exceptions.LocationValueError:
        raise unusable(subject) from None
    except (exceptions.HTTPError, OSError) as error:
        words = words_of(error)
        if words == CLOCK:
            raise SourceUnreachable(f"{subject}: {words}", hint=CLOCK_HINT) from None
        if words == CERTIFICATE:
            raise SourceUnreachable(
                f"{subject}: {words}", hint="name a CA bundle that holds its issuer (SSL_CERT_FILE)"
            ) from None
        if is_stalled(error):
            attempt.stalled()
        raise Interrupted(f"{subject}: {words}", broke=words == BROKE, stalled=is_stalled(error)) from None

"""Requests to registries: https only, redirects of requests that only read, translated failures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self, TypeAlias
from urllib.parse import urljoin, urlsplit

from envbuilder.core.errors import SourceUnreachable
from envbuilder.core.files import CHUNK
from envbuilder.core.http.client import MOST_REDIRECTS, Client, Response
from envbuilder.core.http.failures import BROKE, CERTIFICATE, CLOCK, CLOCK_HINT, BadAddress
from envbuilder.core.http.limits import MOST_WAITED, SECONDS, ServerAbandoned, Stalled, TooLong, decimal, whole
from envbuilder.core.http.origins import is_loopback, origin
from envbuilder.core.http.retries import retry_after
from envbuilder.oci.registry.failures import Interrupted, error_message

Body: TypeAlias = bytes | Callable[[], Iterator[bytes]] | None
"""Bytes, or a function that returns them again for each attempt; the headers then include `Content-Length`."""

_LONGEST_ERROR = 1 << 16
_MOST_SENT = 1 << 50  # larger than any body
_CERTAIN = {CLOCK: CLOCK_HINT, CERTIFICATE: "name a CA bundle that holds its issuer (SSL_CERT_FILE)"}
"""Hints for failures after which another attempt would fail too."""

_LATER_HINT = "try again later, or use another registry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """An HTTP request.

    Attributes:
        url: Absolute.
        subject: Its subject, in words for errors, since addresses may contain secrets.
        local: Whether the registry is on this machine, so that plain http to this machine is allowed.
        headers: Without `authorization`.
        authorization: Value of that header, sent to the origin of the URL but not to targets of redirects.
        secrets: Texts that no error may contain, even if the response does.
        seconds: Timeout until the first byte of the response.
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
    """An HTTP response whose body is not read yet.

    Attributes:
        status: HTTP status.
        headers: Case-insensitive.
        url: URL after redirects.
        subject: As in the request.
    """

    def __init__(self, response: Response, subject: str) -> None:
        self._response = response
        self.status = response.status
        self.headers = response.headers
        self.url = response.url
        self.subject = subject

    @property
    def challenges(self) -> tuple[str, ...]:
        """Values of `WWW-Authenticate`."""
        return self._response.all_of("WWW-Authenticate")

    @property
    def location(self) -> str:
        """`Location`, made absolute; empty if there is none.

        Raises:
            SourceUnreachable: It is not an address.
        """
        return self._absolute(self.headers.get("Location", ""))

    @property
    def redirect(self) -> str:
        """Target of a redirect, made absolute; empty if it is not a redirect. Errors as in `location`."""
        return self._absolute(self._response.redirect)

    def _absolute(self, place: str) -> str:
        try:
            found = urljoin(self.url, place) if place else ""
            origin(found)
        except ValueError:
            raise unusable(self.subject) from None
        return found

    def chunks(self) -> Iterator[bytes]:
        """Yield the body in pieces of a megabyte.

        Raises:
            Interrupted: The connection failed before the end.
        """
        while chunk := self.read(CHUNK):
            yield chunk

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; none at the end.

        Raises:
            Interrupted: The connection failed before the end, or is too slow.
        """
        with _as_ours(self.subject):
            return self._response.read(size)

    def content(self, limit: int) -> bytes:
        """Return the whole body.

        Args:
            limit: Maximum in bytes.

        Raises:
            Interrupted: The connection failed before the end.
            SourceUnreachable: It is larger.
        """
        try:
            return whole(self, limit)
        except TooLong as error:
            raise SourceUnreachable(
                f"{self.subject}: {error}", hint="this is not a registry, or the image does not exist"
            ) from error

    def start(self, length: int) -> bytes:
        """Return the first bytes of the body."""
        parts = []
        while length and (part := self.read(length)):
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        """Return the connection to the pool, or close it if much of the body is unread."""
        self._response.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Transport:
    """Sender of requests to registries; thread-safe."""

    def __init__(self, environ: Mapping[str, str], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = Client(environ, clock=clock)

    def send(self, request: Request) -> Answer:
        """Send a request, once, and follow redirects if it only reads.

        Raises:
            Interrupted: No response, or a temporary failure (429, 5xx).
            SourceUnreachable: Its address, or the target of a redirect, is not allowed.
            UsageError: Proxy or CA bundle of the environment is invalid.
        """
        url = request.url
        for _ in range(MOST_REDIRECTS + 1):
            answer = self._exchanged(request, url)
            if request.method not in {"GET", "HEAD"} or not answer.redirect:
                return self._settled(answer, request)
            url = answer.redirect
            answer.close()
        raise SourceUnreachable(f"{request.subject}: too many redirects", hint="ask the registry's operator")

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def _exchanged(self, request: Request, url: str) -> Answer:
        _require_safe(request, url)
        headers = dict(request.headers)
        if request.authorization and origin(url) == origin(request.url):
            headers["Authorization"] = request.authorization
        with _as_ours(request.subject):
            response = self._client.send(
                request.method,
                url,
                headers,
                body=request.body() if callable(request.body) else request.body,
                length=_length(request),
                seconds=request.seconds,
            )
        return Answer(response, request.subject)

    def _settled(self, answer: Answer, request: Request) -> Answer:
        """Return a final response; limit the waiting time per server to `MOST_WAITED` in all."""
        if answer.status != 429 and answer.status < 500:
            return answer
        with answer:
            words = f"{request.subject}: {error_message(answer.status, answer.start(_LONGEST_ERROR), request.secrets)}"
        asked = retry_after(answer.headers)
        if not asked:
            raise Interrupted(words, asked=asked, hint="try again later")
        granted = self._client.granted(answer.url, asked)
        if not granted:
            words += (
                f", and {urlsplit(answer.url).netloc} still asks to wait after {MOST_WAITED:.0f} seconds of waiting"
            )
            raise SourceUnreachable(words, hint=_LATER_HINT)
        raise Interrupted(words, asked=granted, hint="try again later")


def _require_safe(request: Request, url: str) -> None:
    """Raise an error unless plain http goes to this machine only, without a redirect from another machine."""
    try:
        parts = urlsplit(url)
        origin(url)
    except ValueError:  # invalid port or host, or an unclosed bracket
        raise unusable(request.subject) from None
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme == "http" and request.local and is_loopback(parts.netloc):
        return
    raise SourceUnreachable(
        f"{request.subject}: the registry redirects to an address without https",
        hint="a proxy before the registry has to tell it the outer scheme (X-Forwarded-Proto); ask its operator",
    )


def unusable(subject: str) -> SourceUnreachable:
    """Return the error for an invalid address."""
    return SourceUnreachable(
        f"{subject}: the registry redirects to an invalid address", hint="ask the registry's operator"
    )


def _length(request: Request) -> int:
    """Return the bytes of the body of a request."""
    if isinstance(request.body, bytes):
        return len(request.body)
    return decimal(dict(request.headers).get("Content-Length"), _MOST_SENT)


@contextmanager
def _as_ours(subject: str) -> Iterator[None]:
    """Translate the failures of a connection."""
    try:
        yield
    except BadAddress:
        raise unusable(subject) from None
    except ServerAbandoned as error:
        raise SourceUnreachable(f"{subject}: {error}", hint=_LATER_HINT) from None
    except OSError as error:
        words = str(error)
        if words in _CERTAIN:
            raise SourceUnreachable(f"{subject}: {words}", hint=_CERTAIN[words]) from None
        raise Interrupted(f"{subject}: {words}", broke=words == BROKE, stalled=isinstance(error, Stalled)) from None

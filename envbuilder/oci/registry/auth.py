"""Authentication at a registry: its challenge, its token service, and the lifetime of tokens."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from envbuilder.core.errors import SourceUnreachable
from envbuilder.core.http.origins import is_loopback
from envbuilder.core.http.retries import Pacing
from envbuilder.core.json_fields import at, parsed, text
from envbuilder.oci.registry.credentials import Credentials
from envbuilder.oci.registry.failures import refused
from envbuilder.oci.registry.retries import patiently
from envbuilder.oci.registry.transport import Answer, Request, Transport

_CLIENT = "envbuilder"
_LONGEST_ANSWER = 1 << 20
_DEFAULT_LIFE = 60.0
_MARGIN = 10.0  # a token that expires sooner is not used
_SCHEME = re.compile(r"[\s,]*([A-Za-z]+)(?:\s+(?![\s=])|(?=,)|$)")
_PARAMETER = re.compile(r'\s*([A-Za-z_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))\s*,?')
_VISIBLE = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """Authentication that a registry requires.

    Attributes:
        scheme: `bearer` or `basic`.
        realm: Address of the token service, or a text.
        service: The registry's name at the token service.
        scope: Required scope of a token, such as `repository:team/tf:pull`; may be empty.
    """

    scheme: str
    realm: str
    service: str
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ticket:
    """An `Authorization` header and its expiry, by the clock of `Pacing`."""

    header: str
    ends: float


class Authorizer:
    """Source of the `Authorization` header for one registry; thread-safe.

    Args:
        host: The registry, for errors.
        transport: Sends requests to the token service.
        login: Returns the user's credentials; called at the first challenge.
        pacing: Provides waits and time.
    """

    def __init__(
        self, host: str, transport: Transport, login: Callable[[], Credentials | None], pacing: Pacing
    ) -> None:
        self._host = host
        self._transport = transport
        self._login = login
        self._pacing = pacing
        self._asked: list[Credentials | None] = []
        self._tickets: dict[tuple[str, ...], _Ticket] = {}
        self._tokens: list[str] = []
        self._lock = threading.Lock()

    def header(self, scopes: tuple[str, ...]) -> str:
        """Return the header for requests with these scopes; empty until the registry has required one."""
        ticket = self._tickets.get(scopes)
        return ticket.header if ticket and ticket.ends > self._pacing.clock() else ""

    def renew(self, scopes: tuple[str, ...], challenges: Sequence[str], stale: str) -> str:
        """Return a new header after the registry has refused one.

        Args:
            scopes: Required scopes.
            challenges: The registry's `WWW-Authenticate` headers.
            stale: The refused header; empty if there was none.

        Returns:
            The header; empty if no other than the refused one is available.

        Raises:
            SourceUnreachable: The token service does not respond, or refuses.
            InvalidInput, ToolMissing, ToolFailed: The credentials cannot be read.
        """
        with self._lock:
            current = self.header(scopes)
            if current and current != stale:
                return current  # another thread has renewed it
            challenge = chosen(challenges)
            if challenge is None:
                return ""
            ticket = self._basic() if challenge.scheme == "basic" else self._bearer(challenge, scopes)
            if ticket is None or ticket.header == stale:
                return ""
            self._tickets[scopes] = ticket
            return ticket.header

    def secrets(self) -> tuple[str, ...]:
        """Return the texts that no error may contain."""
        return (*self._tokens, *(secret for login in self._asked if login for secret in login.secrets))

    def _credentials(self) -> Credentials | None:
        if not self._asked:
            self._asked.append(self._login())
        return self._asked[0]

    def _basic(self) -> _Ticket | None:
        login = self._credentials()
        return _Ticket(header=f"Basic {login.basic}", ends=float("inf")) if login and login.user else None

    def _bearer(self, challenge: Challenge, scopes: tuple[str, ...]) -> _Ticket:
        wanted = tuple(dict.fromkeys((*challenge.scope.split(), *scopes)))
        request = self._token_request(challenge, wanted)

        def ask() -> _Ticket:
            with self._transport.send(request) as answer:
                return self._ticket(answer)

        return patiently(self._pacing, ask)

    def _token_request(self, challenge: Challenge, scopes: tuple[str, ...]) -> Request:
        login = self._credentials()
        fields = [("service", challenge.service)] if challenge.service else []
        subject = f"token service of {self._host}"
        asked = Request(
            method="GET",
            url=challenge.realm,
            subject=subject,
            local=is_loopback(self._host),
            secrets=login.secrets if login else (),
        )
        if login and login.identity:
            form = urlencode(
                [
                    ("grant_type", "refresh_token"),
                    ("refresh_token", login.identity),
                    ("client_id", _CLIENT),
                    *fields,
                    ("scope", " ".join(scopes)),
                ]
            )
            headers = (("Content-Type", "application/x-www-form-urlencoded"),)
            return replace(asked, method="POST", headers=headers, body=form.encode())
        query = urlencode([*fields, *(("scope", scope) for scope in scopes)])
        separator = "&" if "?" in challenge.realm else "?"
        return replace(
            asked, url=f"{challenge.realm}{separator}{query}", authorization=f"Basic {login.basic}" if login else ""
        )

    def _ticket(self, answer: Answer) -> _Ticket:
        content = answer.content(_LONGEST_ANSWER)
        if answer.status != 200:
            raise refused(answer.subject, answer.status, content, self.secrets())
        response = parsed(content)
        token = text(response, "token") or text(response, "access_token")
        if not _VISIBLE.fullmatch(token):
            raise SourceUnreachable(
                f"{answer.subject}: the response contains no token", hint="ask the registry's operator"
            )
        self._tokens.append(token)
        return _Ticket(header=f"Bearer {token}", ends=self._pacing.clock() + _life(response))


def chosen(challenges: Sequence[str]) -> Challenge | None:
    """Return the challenge to respond to: a token service before a password; None if neither is accepted.

    Source: https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1; parameters:
    https://distribution.github.io/distribution/spec/auth/token/

    Example:
        >>> chosen(['Basic realm="x"', 'Bearer realm="https://auth.example/token",service="r",scope="repository:a:pull"'])
        Challenge(scheme='bearer', realm='https://auth.example/token', service='r', scope='repository:a:pull')
    """
    found = [challenge for line in challenges for challenge in _challenges(line)]
    return min(found, key=lambda challenge: challenge.scheme != "bearer", default=None)


def _challenges(line: str) -> list[Challenge]:
    found = []
    position = 0
    while scheme := _SCHEME.match(line, position):
        position = scheme.end()
        fields = {}
        while (parameter := _PARAMETER.match(line, position)) is not None:
            name, quoted, plain = parameter.groups()
            fields[name.lower()] = re.sub(r"\\(.)", r"\1", quoted) if plain is None else plain
            position = parameter.end()
        name = scheme[1].lower()
        if name == "basic" or (name == "bearer" and fields.get("realm")):
            found.append(
                Challenge(
                    scheme=name,
                    realm=fields.get("realm", ""),
                    service=fields.get("service", ""),
                    scope=fields.get("scope", ""),
                )
            )
    return found


def _life(response: object) -> float:
    """Return the seconds for which a token is used: its lifetime without the last ten, or half of a shorter one."""
    life = at(response, "expires_in")
    seconds = float(life) if isinstance(life, int | float) and life > 0 else _DEFAULT_LIFE
    return max(seconds - _MARGIN, seconds / 2)

"""Failures of a registry, with messages that contain no secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from http import HTTPStatus

from envbuilder.core.errors import EnvbuilderError, SourceUnreachable
from envbuilder.core.json_fields import parsed, records, text

_MOST_ERRORS = 3
_LONGEST_MESSAGE = 300
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_NETWORK_HINT = "check network, proxy (HTTPS_PROXY, NO_PROXY) and CA bundle (SSL_CERT_FILE), then run the command again"


class Interrupted(SourceUnreachable):
    """A failure after which another attempt may succeed.

    Attributes:
        asked: Seconds that the registry asked to wait; None if it did not.
        broke: Whether an established connection ended without a response.
        stalled: Whether the registry sent nothing or too little in time.
    """

    def __init__(
        self,
        message: str,
        *,
        asked: float | None = None,
        broke: bool = False,
        stalled: bool = False,
        hint: str = _NETWORK_HINT,
    ) -> None:
        super().__init__(message, hint=hint)
        self.asked = asked
        self.broke = broke
        self.stalled = stalled


class SessionLost(Interrupted):
    """The registry has lost the partial upload; only a new upload can succeed."""


class TransferStopped(EnvbuilderError):
    """This transfer was cancelled because another one failed; never reported to a user."""


def refused(subject: str, status: int, body: bytes, secrets: Iterable[str] = ()) -> SourceUnreachable:
    """Return the error for a final response.

    `secrets` are texts that must not be printed, even if the registry repeats them.
    """
    return SourceUnreachable(f"{subject}: {error_message(status, body, secrets)}", hint=_hint(status))


def error_message(status: int, body: bytes, secrets: Iterable[str] = ()) -> str:
    """Return the registry's message: status, and code and message of its errors.

    Example:
        >>> error_message(404, b'{"errors":[{"code":"NAME_UNKNOWN","message":"no such name"}]}')
        'the registry answers 404 Not Found (NAME_UNKNOWN: no such name)'
    """
    errors = records(parsed(body), "errors")[:_MOST_ERRORS]
    words = "; ".join(": ".join(filter(None, (text(error, "code"), text(error, "message")))) for error in errors)
    for secret in filter(None, secrets):
        words = words.replace(secret, "…")
    words = _CONTROL.sub(" ", words)[:_LONGEST_MESSAGE]
    return f"the registry answers {status}{_phrase(status)}{f' ({words})' if words else ''}"


def _phrase(status: int) -> str:
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""


def _hint(status: int) -> str:
    if status in {401, 403}:
        return "run `docker login HOST` as a user with permission"
    if status == 404:
        return "check repository, tag and digest"
    if status == 413:
        return "the registry, or the proxy before it, rejects uploads of this size: its operator must raise the limit"
    return "contact the operator of the registry"

"""Reachability of an address within a limit of seconds; the content of the answer is ignored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from envbuilder.core.errors import UsageError
from envbuilder.core.http.client import Client
from envbuilder.core.http.failures import BAD_ADDRESS, CERTIFICATE, CLOCK, CLOSED, NO_NAME, NO_PROXY, SILENT
from envbuilder.core.http.origins import without_login
from envbuilder.core.http.proxies import proxy_for
from envbuilder.core.http.trust import UnreadableCertificates
from envbuilder.diagnostics.host.environment import Silence

_SILENCES = {
    BAD_ADDRESS: Silence.ADDRESS,
    CERTIFICATE: Silence.CERTIFICATE,
    CLOCK: Silence.CERTIFICATE,
    CLOSED: Silence.REFUSED,
    NO_NAME: Silence.NAME,
    NO_PROXY: Silence.PROXY,
    SILENT: Silence.TIME,
}


def answer(url: str, environ: Mapping[str, str], limit: float) -> int | Silence | None:
    """Send one request, and read only the head of the answer.

    The limit holds for connecting and for the answer; a name lookup takes as long as the resolver of this machine
    allows, so a caller with a hard limit has to abandon this call in a thread.

    Args:
        url: `http`, `https` or `file`.
        environ: Proxies and CA bundle.
        limit: Seconds.

    Returns:
        HTTP status; None for an existing directory; else the reason for the missing answer. It contains no address.
    """
    try:
        parts = urlsplit(url)
        scheme, host = parts.scheme, parts.hostname
    except ValueError:
        return Silence.ADDRESS
    if scheme in {"file", "copy"}:
        return None if Path(unquote(parts.path)).exists() else Silence.REFUSED
    if scheme not in {"http", "https"} or not host:
        return Silence.ADDRESS
    return _status(without_login(url), environ, limit)


def is_proxied(url: str, environ: Mapping[str, str]) -> bool:
    """Return True if a proxy is used for an address."""
    return bool(proxy_for(url, environ))


def _status(url: str, environ: Mapping[str, str], limit: float) -> int | Silence:
    client = Client(environ)
    try:
        response = client.send("GET", url, {}, total=limit)
        response.close(keep=False)
    except UnreadableCertificates:
        return Silence.CA_BUNDLE
    except UsageError:
        return Silence.PROXY
    except OSError as error:
        return _SILENCES.get(str(error), Silence.BROKEN)
    finally:
        client.close()
    return response.status

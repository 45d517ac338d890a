"""Whether an address answers at all, within a limit of seconds; what it says does not matter."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

import urllib3
from urllib3 import exceptions

from envbuilder.core.errors import UsageError
from envbuilder.core.http.pools import USER_AGENT, opened_pool
from envbuilder.core.http.proxies import proxy_for
from envbuilder.core.http.trust import trust
from envbuilder.diagnostics.host.environment import Silence


def answer(url: str, environ: Mapping[str, str], limit: float) -> int | Silence | None:
    """Ask once, and read no more than the head of the answer.

    The limit holds for connecting and for the answer; looking up a name takes as long as the resolver of this machine
    likes, so whoever needs a hard limit has to leave this behind in a thread.

    Args:
        url: `http`, `https` or `file`.
        environ: Proxies and CA bundle.
        limit: Seconds.

    Returns:
        HTTP status; None for a folder that is there; else why there was no answer. Nothing of it holds an address.
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
    return _status(url, environ, limit, secure=scheme == "https")


def is_proxied(url: str, environ: Mapping[str, str]) -> bool:
    """Whether a proxy stands before an address."""
    return bool(proxy_for(url, environ))


def _status(url: str, environ: Mapping[str, str], limit: float, *, secure: bool) -> int | Silence:
    try:
        context = trust(environ) if secure else None
    except UsageError:
        return Silence.CA_BUNDLE
    try:
        pool = opened_pool(proxy_for(url, environ), context)
    except UsageError:
        return Silence.PROXY
    with pool:
        try:
            response = pool.request(
                "GET",
                url,
                headers={"User-Agent": USER_AGENT},
                redirect=False,
                retries=False,
                preload_content=False,
                timeout=urllib3.Timeout(total=limit),
            )
        except (exceptions.HTTPError, OSError) as error:
            return _silence(error)
        response.close()
        return int(response.status)


def _silence(error: BaseException) -> Silence:
    if isinstance(error, exceptions.SSLError):
        return Silence.CERTIFICATE if "CERTIFICATE" in str(error) else Silence.BROKEN
    if isinstance(error, exceptions.ProxyError):
        return Silence.PROXY
    if isinstance(error, exceptions.NameResolutionError):
        return Silence.NAME
    if isinstance(error, exceptions.TimeoutError) and not isinstance(error, exceptions.NewConnectionError):
        return Silence.TIME
    return Silence.REFUSED if isinstance(error, exceptions.NewConnectionError) else Silence.BROKEN

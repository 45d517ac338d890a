"""Pools of connections: through a proxy or not, and with the certificates that this machine was told to trust."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote

from envbuilder.errors import UsageError
from envbuilder.files import CHUNK

if TYPE_CHECKING:
    from urllib3 import PoolManager, ProxyManager

_CA_BUNDLE = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
_CONNECTIONS = 8


def opened_pool(proxy: str, context: ssl.SSLContext | None) -> PoolManager | ProxyManager:
    """A pool that goes through a proxy; directly when it is empty.

    Raises:
        UsageError: The proxy's address is none.
    """
    import urllib3  # noqa: PLC0415  its import takes 70 ms

    if not proxy:
        return urllib3.PoolManager(maxsize=_CONNECTIONS, ssl_context=context, blocksize=CHUNK)
    try:
        parts = urllib3.util.parse_url(proxy)
        login = urllib3.make_headers(proxy_basic_auth=unquote(parts.auth)) if parts.auth else None
        return urllib3.ProxyManager(
            parts._replace(auth=None).url,
            proxy_headers=login,
            maxsize=_CONNECTIONS,
            ssl_context=context,
            blocksize=CHUNK,
        )
    except (urllib3.exceptions.HTTPError, ValueError):  # the address may hold a password
        raise UsageError(
            "the proxy that the environment names cannot be used", hint="HTTPS_PROXY has the form http://HOST:PORT"
        ) from None


def trust(environ: Mapping[str, str]) -> ssl.SSLContext:
    """The certificates to trust: those that a variable names, a file or a folder, else those of this machine.

    Raises:
        UsageError: They cannot be read.
    """
    name = next((name for name in _CA_BUNDLE if environ.get(name)), "")
    bundle = environ.get(name) or None
    folder = bundle is not None and os.path.isdir(bundle)  # noqa: PTH112  a value of the environment, used as text
    try:
        return ssl.create_default_context(cafile=None if folder else bundle, capath=bundle if folder else None)
    except OSError:
        raise UsageError(
            f"the CA bundle that {name} names cannot be read", hint=f"set {name} to a file of PEM certificates"
        ) from None

"""Origins of addresses, which credentials must not leave."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Return True if `host[:port]` names this machine, without a name lookup.

    Example:
        >>> [is_loopback(host) for host in ("localhost:5000", "127.0.0.1", "[::1]:80", "registry.example")]
        [True, True, True, False]
    """
    name = urlsplit(f"//{host}").hostname or ""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def origin(url: str) -> str:
    """Return scheme, host and port of an address, without user and password.

    Example:
        >>> origin("https://me:secret@index.example/simple/")
        'https://index.example:443'
    """
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    return f"{parts.scheme}://{parts.hostname}:{port}"


def without_login(url: str) -> str:
    """Return an address without user and password.

    Example:
        >>> without_login("https://me:secret@index.example:8443/simple/")
        'https://index.example:8443/simple/'
    """
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def scheme_of(url: str) -> str:
    """Return the scheme of an address; empty if it is not a valid address.

    Example:
        >>> scheme_of("https://index.example/simple/"), scheme_of("http://["), scheme_of("http://index.example:99999/")
        ('https', '', '')
    """
    try:
        origin(url)
        return urlsplit(url).scheme
    except ValueError:
        return ""

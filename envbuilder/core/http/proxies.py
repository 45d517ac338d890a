"""Selection of the proxy for an address from the environment."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from envbuilder.core.http.origins import is_loopback


def proxy_for(url: str, environ: Mapping[str, str]) -> str:
    """Return the proxy for an address; empty for a direct connection, as always to this machine itself.

    Example:
        >>> environ = {"HTTPS_PROXY": "proxy.example:3128", "NO_PROXY": ".lan,10.0.0.0/8"}
        >>> proxy_for("https://registry.example/v2/", environ)
        'http://proxy.example:3128'
        >>> proxy_for("https://registry.lan/v2/", environ), proxy_for("https://10.1.2.3/v2/", environ)
        ('', '')
    """
    parts = urlsplit(url)
    if is_loopback(parts.netloc) or _is_direct(parts.hostname or "", parts.port, _value(environ, "no_proxy")):
        return ""
    proxy = _value(environ, f"{parts.scheme}_proxy") or _value(environ, "all_proxy")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def _value(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name) or environ.get(name.upper(), "")


def _is_direct(host: str, port: int | None, exceptions: str) -> bool:
    return any(_covers(entry.strip(), host, port) for entry in exceptions.split(",") if entry.strip())


def _covers(entry: str, host: str, port: int | None) -> bool:
    if entry == "*":
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        name, colon, number = entry.rpartition(":")
        if colon and number != str(port or ""):
            return False
        name = (name if colon else entry).lstrip("*").lstrip(".").lower()
        return host == name or host.endswith(f".{name}")

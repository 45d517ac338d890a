"""Trusted certificates: the variables that name them, for this process, its child processes and builds."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path

from envbuilder.core.errors import UsageError

CA_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT")
"""Variables that name certificates. The first one that is set is used everywhere; the others are ignored."""

_BEGIN = b"-----BEGIN CERTIFICATE-----"
_END = b"-----END CERTIFICATE-----"


class UnreadableCertificates(UsageError):
    """The certificates that a variable names cannot be read."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the CA bundle that {name} names cannot be read", hint=f"set {name} to a file of PEM certificates"
        )


def ca_variable(environ: Mapping[str, str]) -> str:
    """Return the variable that names the trusted certificates; empty if none is set.

    Example:
        >>> ca_variable({"PIP_CERT": "/a.pem", "REQUESTS_CA_BUNDLE": "/b.pem"})
        'REQUESTS_CA_BUNDLE'
    """
    return next((name for name in CA_VARIABLES if environ.get(name)), "")


def trust(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Return a context that trusts the certificates of `ca_variable`, else those of this machine.

    The variable names a file, or a directory in the format of OpenSSL.

    Raises:
        UnreadableCertificates: They cannot be read.
    """
    name = ca_variable(environ)
    bundle = environ[name] if name else None
    directory = bundle is not None and Path(bundle).is_dir()
    try:
        return ssl.create_default_context(cafile=None if directory else bundle, capath=bundle if directory else None)
    except OSError:
        raise UnreadableCertificates(name) from None


def ca_bundle(environ: Mapping[str, str]) -> bytes:
    """Return the certificates of `ca_variable` in one text; empty if none is set.

    Raises:
        UnreadableCertificates: They cannot be read.
    """
    name = ca_variable(environ)
    if not name:
        return b""
    path = Path(environ[name])
    try:
        if not path.is_dir():
            return path.read_bytes()
        # The directory contains each certificate under its hash, and usually under its own name too.
        contents = [file.read_bytes() for file in sorted(path.iterdir()) if file.is_file()]
    except OSError:
        raise UnreadableCertificates(name) from None
    certificates = (part.partition(_END)[0] for content in contents for part in content.split(_BEGIN)[1:])
    return b"".join(_BEGIN + each + _END + b"\n" for each in dict.fromkeys(certificates))


def child_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a program that reads only OpenSSL's own variables, such as uv.

    Example:
        >>> child_environ({"PIP_CERT": "/a.pem"})
        {'PIP_CERT': '/a.pem', 'SSL_CERT_FILE': '/a.pem'}
    """
    name = ca_variable(environ)
    if not name or (name == "SSL_CERT_FILE" and not Path(environ[name]).is_dir()):
        return dict(environ)
    kept = {key: value for key, value in environ.items() if key != "SSL_CERT_FILE"}
    return {**kept, "SSL_CERT_DIR" if Path(environ[name]).is_dir() else "SSL_CERT_FILE": environ[name]}

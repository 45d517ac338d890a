"""Words for a connection that failed; the messages of urllib3 hold addresses, and those can hold secrets."""

from __future__ import annotations

BROKE = "the connection broke"
CERTIFICATE = "its certificate cannot be verified"
NO_TLS = "it does not speak TLS"


def words_of(error: BaseException) -> str:
    """Return what went wrong with a connection, without any address."""
    from urllib3 import exceptions  # noqa: PLC0415  its import takes 70 ms

    if isinstance(error, exceptions.SSLError):
        return CERTIFICATE if "CERTIFICATE" in str(error) else NO_TLS
    if isinstance(error, exceptions.ProxyError):
        return "the proxy does not let us through"
    if isinstance(error, exceptions.NameResolutionError):
        return "its name cannot be resolved"
    if isinstance(error, exceptions.TimeoutError) and not isinstance(error, exceptions.NewConnectionError):
        return "it did not answer in time"
    if isinstance(error, exceptions.NewConnectionError):
        return "it does not accept connections"
    return BROKE

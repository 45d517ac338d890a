"""Messages for failed connections, since those of urllib3 contain addresses, which may contain secrets."""

from __future__ import annotations

from envbuilder.core.http.limits import Stalled

BROKE = "the connection broke"
CERTIFICATE = "the server's certificate cannot be verified"
CLOCK = "the server's certificate is not valid at the date of this machine's clock"
CLOCK_HINT = "the clock of this machine may be wrong: compare `date -u` with the real time"
BAD_ADDRESS = "its address cannot be used"
NO_ADDRESS = "the server redirects to an address that cannot be used"
SILENT = "the server did not answer in time"
CLOSED = "the server does not accept connections"
NO_NAME = "the server's name cannot be resolved"
NO_PROXY = "the proxy refuses the connection"
NO_TLS = "the server does not speak TLS"


class BadAddress(OSError):
    """An address is invalid, or has an invalid host or port."""

    def __init__(self, words: str = BAD_ADDRESS) -> None:
        super().__init__(words)


def words_of(error: BaseException) -> str:
    """Return the failure of a connection in words, without any address."""
    from urllib3 import exceptions  # noqa: PLC0415  its import takes 70 ms

    if isinstance(error, Stalled):
        return str(error)
    if isinstance(error, exceptions.SSLError):
        return _of_tls(str(error))
    words = (
        (exceptions.ProxyError, NO_PROXY),
        (exceptions.NameResolutionError, NO_NAME),
        (exceptions.NewConnectionError, CLOSED),
        (exceptions.TimeoutError, SILENT),
    )
    return next((text for kind, text in words if isinstance(error, kind)), BROKE)


def is_stalled(error: BaseException) -> bool:
    """Return True if a server did not respond in time, or too slowly."""
    from urllib3 import exceptions  # noqa: PLC0415  see above

    return isinstance(error, Stalled | exceptions.ReadTimeoutError)


def _of_tls(message: str) -> str:
    # OpenSSL's texts for X509_V_ERR_CERT_HAS_EXPIRED and X509_V_ERR_CERT_NOT_YET_VALID: x509_txt.c.
    if "certificate has expired" in message or "certificate is not yet valid" in message:
        return CLOCK
    return CERTIFICATE if "CERTIFICATE" in message else NO_TLS

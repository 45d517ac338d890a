"""Download of one file of known hash, which gets its name only after the hash is verified."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.errors import SourceUnreachable, VerificationFailed
from envbuilder.core.files import CHUNK
from envbuilder.core.http.credentials import LOGIN_HINT
from envbuilder.core.http.failures import CLOCK, CLOCK_HINT
from envbuilder.core.http.limits import MOST_STALLS, Stalled, TooLong, decimal
from envbuilder.core.http.origins import origin, scheme_of
from envbuilder.core.http.web import Answer, Web
from envbuilder.lock.index.index import IndexFile
from envbuilder.oci.store import Receiver, Store

_TRIES = 4
_OK, _PARTIAL, _NOTHING_LEFT, _TOO_MANY = 200, 206, 416, 429
_LARGEST = 64 << 30
"""Limit in bytes for a file of unknown size: far above the largest wheel (3 GiB), far below the size of a disk."""

_LONGEST_TOLD = 10**6
_NOT_ALLOWED = frozenset({401, 403})
_SCHEMES = ("https", "http", "file")
_BUSY_HINT = "try again later, or name another index: --index URL"
_NETWORK_HINT = "check network, proxy and CA bundle (SSL_CERT_FILE)"


def fetch(
    wanted: IndexFile,
    folder: Path,
    *,
    web: Web,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
    pause: Callable[[float], None] = time.sleep,
) -> Path:
    """Download a file into a directory.

    A broken download is resumed a few times from where it stopped.

    Args:
        wanted: The file.
        folder: Target directory; must exist.
        web: Sends the requests.
        progress: Progress callback; receives the bytes received and the total (0 if the server does not state it).
        pause: Waits between two attempts, in seconds.

    Returns:
        The file under its name.

    Raises:
        SourceUnreachable: The server does not respond, or does not have the file.
        VerificationFailed: The file does not match its hash; it has been removed.
    """
    part = folder / f".{wanted.file}.part"
    try:
        with part.open("w+b") as stream:
            receiver = Receiver(stream)
            _download(wanted, receiver, web, progress, pause)
            digest = receiver.digest.removeprefix("sha256:")
        if digest != wanted.sha256:
            raise VerificationFailed(
                f"{wanted.file} has sha256 {digest}, not {wanted.sha256}",
                hint="the index or a proxy returned a different file; try again, or use another index: --index URL",
            )
        return part.replace(folder / wanted.file)
    finally:
        part.unlink(missing_ok=True)


def fetch_into(
    wanted: IndexFile,
    store: Store,
    *,
    web: Web,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Download a file into the store, resuming a partial download of an earlier run.

    If the result does not match its hash, it is downloaded once more in full: the partial file may have been wrong.

    Args:
        wanted: The file.
        store: Receives the file under its hash.
        web: Sends the requests.
        progress: Progress callback; receives the bytes received and the total (0 if the server does not state it).
        pause: Waits between two attempts, in seconds.

    Raises:
        SourceUnreachable: The server does not respond, or does not have the file.
        VerificationFailed: The file does not match its hash; it has been removed.
        DiskFull: No space is left.
    """
    try:
        _receive(wanted, store, web, progress, pause)
    except VerificationFailed:
        try:
            _receive(wanted, store, web, progress, pause)
        except VerificationFailed as error:
            raise VerificationFailed(
                f"{wanted.file}: {error.message.removeprefix(f'{wanted.file}: ')}",
                hint="the index or a proxy returned a different file; try again, or use another index: --index URL",
            ) from error


def length_of(wanted: IndexFile, web: Web) -> int:
    """Return the bytes of a file, from its server without downloading it; 0 if the server does not state them."""
    if wanted.size:
        return wanted.size
    try:
        with web.asked(wanted.url, {}, method="HEAD") as answer:
            return _announced(answer) if answer.status == _OK else 0
    except OSError:
        return 0


def _receive(
    wanted: IndexFile, store: Store, web: Web, progress: Callable[[int, int], None], pause: Callable[[float], None]
) -> None:
    with store.receiving(f"sha256:{wanted.sha256}") as receiver:
        if receiver:
            _download(wanted, receiver, web, progress, pause)


def _download(
    wanted: IndexFile,
    receiver: Receiver,
    web: Web,
    progress: Callable[[int, int], None],
    pause: Callable[[float], None],
) -> None:
    if scheme_of(wanted.url) not in _SCHEMES:
        raise SourceUnreachable(f"{wanted.file}: its address is not one that can be fetched")
    left = _Left()
    try:
        while not _arrived(wanted, receiver, web, progress, left):
            pause(left.wait)
    except TooLong as error:
        receiver.restart()
        raise VerificationFailed(
            f"{wanted.file}: {error}, the expected size",
            hint="the index or a proxy returned a different file; try again, or use another index: --index URL",
        ) from error


@dataclass(slots=True)
class _Left:
    """Remaining attempts for a file.

    Attributes:
        tries: Number of requests made.
        stalls: Number of those that received too little in time.
        wait: Seconds to wait before the next request.
    """

    tries: int = 0
    stalls: int = 0
    wait: float = 0.0

    def lasts(self, *, granted: float = 0.0, stalled: bool = False) -> bool:
        """Return True if another attempt is allowed; set `wait` then."""
        self.tries += 1
        self.stalls += stalled
        self.wait = max(float(self.tries), granted)
        return self.tries < _TRIES and self.stalls < MOST_STALLS


def _arrived(
    wanted: IndexFile, receiver: Receiver, web: Web, progress: Callable[[int, int], None], left: _Left
) -> bool:
    """Try once; return True if the file is complete.

    Raises:
        SourceUnreachable: It is not, and another attempt would not help.
    """
    hint = _NETWORK_HINT
    try:
        if _follow(wanted, receiver, web, progress):
            return True
        problem = "the connection ended early"
        again = left.lasts()
    except _Refused as refused:
        problem, hint, again = _after(refused, wanted, receiver, web, left)
    except OSError as error:
        _refuse_full_disk(error)
        problem = str(error) or type(error).__name__
        hint = CLOCK_HINT if problem == CLOCK else hint
        lasting = problem == CLOCK or scheme_of(wanted.url) == "file"
        again = not lasting and left.lasts(stalled=isinstance(error, Stalled))
    if not again:
        raise SourceUnreachable(f"{wanted.file} cannot be fetched: {problem}", hint=hint)
    return False


def _after(refused: _Refused, wanted: IndexFile, receiver: Receiver, web: Web, left: _Left) -> tuple[str, str, bool]:
    """Return the server's response, the hint for an error, and True if another attempt may help."""
    problem = f"the server answers {refused.status}"
    if not _may_change(refused.status, receiver):
        return problem, LOGIN_HINT if refused.status in _NOT_ALLOWED else _NETWORK_HINT, False
    if not refused.wait:
        return problem, _NETWORK_HINT, left.lasts()
    granted = web.granted(wanted.url, refused.wait)
    problem = f"{origin(wanted.url)} answers {refused.status} and asks to try again after {refused.wait} seconds"
    return problem, _BUSY_HINT, granted > 0 and left.lasts(granted=granted)


def _may_change(code: int, receiver: Receiver) -> bool:
    """Return True if another attempt may help."""
    if code == _NOTHING_LEFT and receiver.size:
        receiver.restart()  # The partial file of an earlier run is longer than the file.
        return True
    return code >= 500 or code == _TOO_MANY


def _refuse_full_disk(error: OSError) -> None:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        raise error


def _follow(wanted: IndexFile, receiver: Receiver, web: Web, progress: Callable[[int, int], None]) -> bool:
    """Read on from the end of the partial file; return True if it is complete now."""
    have = receiver.size
    with web.asked(wanted.url, {"Range": f"bytes={have}-"} if have else {}) as answer:
        if answer.status not in {_OK, _PARTIAL}:
            raise _Refused(answer.status, decimal(answer.headers.get("Retry-After"), _LONGEST_TOLD))
        if have and answer.status != _PARTIAL:
            receiver.restart()
        announced = _announced(answer)
        total = receiver.size + announced
        # Without a pinned size, the size of the response applies; nothing beyond it is read.
        most = wanted.size or (total if announced else _LARGEST)
        if total > most:
            raise TooLong(most)
        while chunk := answer.read(CHUNK):
            if receiver.size + len(chunk) > most:
                raise TooLong(most)
            receiver.write(chunk)
            progress(receiver.size, total)
    return receiver.size >= total


class _Refused(Exception):
    """A response without the file."""

    def __init__(self, status: int, wait: int) -> None:
        super().__init__(status)
        self.status = status
        self.wait = wait


def _announced(answer: Answer) -> int:
    return decimal(answer.headers.get("Content-Length"), _LARGEST)

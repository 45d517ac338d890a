"""Fetch one file whose hash is known; it gets its name only when the hash is right."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from envbuilder.errors import SourceUnreachable, VerificationFailed
from envbuilder.files import CHUNK
from envbuilder.http.credentials import LOGIN_HINT
from envbuilder.http.web import Answer, Web
from envbuilder.indexing.index import IndexFile
from envbuilder.store import Receiver, Store

_TRIES = 4
_OK, _PARTIAL, _NOTHING_LEFT, _TOO_MANY = 200, 206, 416, 429
_LONGEST_WAIT = 60.0
_NOT_ALLOWED = frozenset({401, 403})
_SCHEMES = ("https", "http", "file")
_NETWORK_HINT = "check network, proxy and CA bundle (SSL_CERT_FILE)"


def fetch(
    wanted: IndexFile,
    folder: Path,
    *,
    web: Web,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
    pause: Callable[[float], None] = time.sleep,
) -> Path:
    """Fetch a file into a folder.

    A connection that breaks is taken up where it broke, a few times.

    Args:
        wanted: The file.
        folder: Where it goes; must be there.
        web: Sends the requests.
        progress: Told the bytes that are here, and those in all (0 when the server does not say).
        pause: Waits between two tries, in seconds.

    Returns:
        The file under its name.

    Raises:
        SourceUnreachable: The server does not answer, or does not have it.
        VerificationFailed: It is not what its hash says; nothing is left of it.
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
                hint="the index or a proxy gave another file; try again, or name another index",
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
    """Fetch a file into the store, where an earlier run may have left the beginning of it.

    A file that turns out to be another one is fetched once more from its beginning: what was left may have been wrong.

    Args:
        wanted: The file.
        store: Where it goes, under its hash.
        web: Sends the requests.
        progress: Told the bytes that are here, and those in all (0 when the server does not say).
        pause: Waits between two tries, in seconds.

    Raises:
        SourceUnreachable: The server does not answer, or does not have it.
        VerificationFailed: It is not what its hash says; nothing is left of it.
        DiskFull: There is no room.
    """
    try:
        _receive(wanted, store, web, progress, pause)
    except VerificationFailed:
        try:
            _receive(wanted, store, web, progress, pause)
        except VerificationFailed as error:
            raise VerificationFailed(
                f"{wanted.file}: {error.message}",
                hint="the index or a proxy gives another file; try again, or name another index: --index URL",
            ) from error


def length_of(wanted: IndexFile, web: Web) -> int:
    """Return the bytes of a file, asked of its server without fetching it; 0 when it does not say."""
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
    if urlsplit(wanted.url).scheme not in _SCHEMES:
        raise SourceUnreachable(f"{wanted.file}: its address is not one that can be fetched")
    problem, hint = "", _NETWORK_HINT
    for attempt in range(1, _TRIES + 1):
        wait = float(attempt)
        try:
            if _follow(wanted, receiver, web, progress):
                return
            problem = "the connection ended early"
        except _Refused as refused:
            problem = f"the server answers {refused.status}"
            hint = LOGIN_HINT if refused.status in _NOT_ALLOWED else _NETWORK_HINT
            wait = max(wait, refused.wait)
            if not _may_change(refused.status, receiver):
                break
        except OSError as error:
            _refuse_full_disk(error)
            problem = str(error) or type(error).__name__
        if attempt < _TRIES:
            pause(wait)
    raise SourceUnreachable(f"{wanted.file} cannot be fetched: {problem}", hint=hint)


def _may_change(code: int, receiver: Receiver) -> bool:
    """Whether asking again can help."""
    if code == _NOTHING_LEFT and receiver.size:
        receiver.restart()  # What an earlier run left is longer than the file.
        return True
    return code >= 500 or code == _TOO_MANY


def _refuse_full_disk(error: OSError) -> None:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        raise error


def _asked_to_wait(header: str | None) -> float:
    """Seconds that a server asks us to wait, no more than a minute; 0 when it does not."""
    return min(float(header), _LONGEST_WAIT) if header and header.isdigit() else 0.0


def _follow(wanted: IndexFile, receiver: Receiver, web: Web, progress: Callable[[int, int], None]) -> bool:
    """Read on from where the file ends; whether it is complete now."""
    have = receiver.size
    with web.asked(wanted.url, {"Range": f"bytes={have}-"} if have else {}) as answer:
        if answer.status not in {_OK, _PARTIAL}:
            raise _Refused(answer.status, _asked_to_wait(answer.headers.get("Retry-After")))
        if have and answer.status != _PARTIAL:
            receiver.restart()
        total = receiver.size + _announced(answer)
        while chunk := answer.read(CHUNK):
            receiver.write(chunk)
            progress(receiver.size, total)
    return receiver.size >= total


class _Refused(Exception):
    """A server that answers, but not with the file."""

    def __init__(self, status: int, wait: float) -> None:
        super().__init__(status)
        self.status = status
        self.wait = wait


def _announced(answer: Answer) -> int:
    length = answer.headers.get("Content-Length") or ""
    return int(length) if length.isdigit() else 0

"""Download of one file of known hash, which gets its name only after the hash is verified."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

from envbuilder.core.errors import SourceUnreachable, VerificationFailed
from envbuilder.core.files import CHUNK
from envbuilder.core.http.credentials import LOGIN_HINT
from envbuilder.core.http.failures import CLOCK, CLOCK_HINT
from envbuilder.core.http.limits import Stalled, TooLong, decimal
from envbuilder.core.http.origins import origin, scheme_of
from envbuilder.core.http.retries import PACING, Pacing, Patience, retry_after
from envbuilder.core.http.web import Web, WebResponse
from envbuilder.lock.index.index import IndexFile
from envbuilder.oci.store import Receiver, Store

_OK, _PARTIAL, _NOTHING_LEFT, _TOO_MANY = 200, 206, 416, 429
_LARGEST = 64 << 30
"""Limit in bytes for a file of unknown size: far above the largest wheel (3 GiB), far below the size of a disk."""

_NOT_ALLOWED = frozenset({401, 403})
_SCHEMES = ("https", "http", "file")
_BUSY_HINT = "try again later, or name another index: --index URL"
_NETWORK_HINT = "check network, proxy and CA bundle (SSL_CERT_FILE)"


class NoAnswer(SourceUnreachable):
    """A server did not answer, so that it may have the file."""


def fetch(
    wanted: IndexFile,
    folder: Path,
    *,
    web: Web,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
    pacing: Pacing = PACING,
) -> Path:
    """Download a file into a directory, under its name.

    A broken download is resumed a few times from where it stopped.

    Args:
        wanted: The file.
        folder: Target directory; must exist.
        web: Sends the requests.
        progress: Progress callback; receives the bytes received and the total (0 if the server does not state it).
        pacing: Waits between two attempts.

    Raises:
        SourceUnreachable: The server does not respond, or does not have the file.
        VerificationFailed: The file does not match its hash; it has been removed.
    """
    part = folder / f".{wanted.file}.part"
    try:
        with part.open("w+b") as stream:
            receiver = Receiver(stream)
            _download(wanted, receiver, web, progress, pacing)
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
    pacing: Pacing = PACING,
) -> None:
    """Download a file into the store, resuming a partial download of an earlier run.

    If the result does not match its hash, it is downloaded once more in full: the partial file may have been wrong.

    Args:
        wanted: The file.
        store: Receives the file under its hash.
        web: Sends the requests.
        progress: Progress callback; receives the bytes received and the total (0 if the server does not state it).
        pacing: Waits between two attempts.

    Raises:
        SourceUnreachable: The server does not respond, or does not have the file.
        VerificationFailed: The file does not match its hash; it has been removed.
        DiskFull: No space is left.
    """
    try:
        _receive(wanted, store, web, progress, pacing)
    except VerificationFailed:
        try:
            _receive(wanted, store, web, progress, pacing)
        except VerificationFailed as error:
            raise VerificationFailed(
                f"{wanted.file}: {error.message.removeprefix(f'{wanted.file}: ')}",
                hint="the index or a proxy returned a different file; try again, or use another index: --index URL",
            ) from error


def fetch_unpinned(url: str, target: Path, *, web: Web) -> None:
    """Download a file whose hash is not known, such as one that changes every day.

    Raises:
        SourceUnreachable: The server does not respond, or does not have the file.
        VerificationFailed: It is longer than the server states.
    """
    with target.open("w+b") as stream:
        file = IndexFile(file=target.name, sha256="", url=url)
        _download(file, Receiver(stream), web, lambda _done, _all: None, PACING)


def length_of(wanted: IndexFile, web: Web) -> int:
    """Return the bytes of a file, from its server without downloading it; 0 if the server does not state them."""
    if wanted.size:
        return wanted.size
    try:
        with web.asked(wanted.url, {}, method="HEAD") as answer:
            return _announced(answer) if answer.status == _OK else 0
    except OSError:
        return 0


def _receive(wanted: IndexFile, store: Store, web: Web, progress: Callable[[int, int], None], pacing: Pacing) -> None:
    with store.receiving(f"sha256:{wanted.sha256}") as receiver:
        if receiver:
            _download(wanted, receiver, web, progress, pacing)


def _download(
    wanted: IndexFile,
    receiver: Receiver,
    web: Web,
    progress: Callable[[int, int], None],
    pacing: Pacing,
) -> None:
    if scheme_of(wanted.url) not in _SCHEMES:
        raise SourceUnreachable(f"{wanted.file}: its address is not one that can be fetched")
    patience = Patience(pacing)
    try:
        while not _arrived(wanted, receiver, web, progress, patience):
            pass
    except TooLong as error:
        receiver.restart()
        raise VerificationFailed(
            f"{wanted.file}: {error}, the expected size",
            hint="the index or a proxy returned a different file; try again, or use another index: --index URL",
        ) from error


def _arrived(
    wanted: IndexFile, receiver: Receiver, web: Web, progress: Callable[[int, int], None], patience: Patience
) -> bool:
    """Try once; return True if the file is complete, else wait for the next attempt.

    Raises:
        SourceUnreachable: It is not, and another attempt would not help.
    """
    hint, failure = _NETWORK_HINT, SourceUnreachable
    try:
        if _follow(wanted, receiver, web, progress):
            return True
        problem = "the connection ended early"
        again = patience.lasts(position=receiver.size)
    except _Refused as refused:
        problem, hint, again = _after(refused, wanted, receiver, web, patience)
    except OSError as error:
        _refuse_full_disk(error)
        problem = str(error) or type(error).__name__
        hint = CLOCK_HINT if problem == CLOCK else hint
        lasting = problem == CLOCK or scheme_of(wanted.url) == "file"
        failure = SourceUnreachable if lasting else NoAnswer
        again = not lasting and patience.lasts(stalled=isinstance(error, Stalled), position=receiver.size)
    if not again:
        raise failure(f"{wanted.file} cannot be fetched: {problem}", hint=hint)
    return False


def _after(
    refused: _Refused, wanted: IndexFile, receiver: Receiver, web: Web, patience: Patience
) -> tuple[str, str, bool]:
    """Return the server's response, the hint for an error, and True after the wait if another attempt may help."""
    problem = f"the server answers {refused.status}"
    if not _may_change(refused.status, receiver):
        return problem, LOGIN_HINT if refused.status in _NOT_ALLOWED else _NETWORK_HINT, False
    if not refused.wait:
        return problem, _NETWORK_HINT, patience.lasts()
    granted = web.granted(wanted.url, refused.wait)
    problem = f"{origin(wanted.url)} answers {refused.status} and asks to try again after {refused.wait:.0f} seconds"
    return problem, _BUSY_HINT, granted > 0 and patience.lasts(asked=granted)


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
            raise _Refused(answer.status, retry_after(answer.headers))
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

    def __init__(self, status: int, wait: float | None) -> None:
        super().__init__(status)
        self.status = status
        self.wait = wait


def _announced(answer: WebResponse) -> int:
    return decimal(answer.headers.get("Content-Length"), _LARGEST)

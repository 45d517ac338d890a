"""Fetch one file whose hash is known; it gets its name only when the hash is right."""

from __future__ import annotations

import errno
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

from envbuilder.errors import SourceUnreachable, VerificationFailed
from envbuilder.files import CHUNK
from envbuilder.indexing.index import IndexFile
from envbuilder.store import Receiver, Store

_TRIES = 4
_TIMEOUT = 60.0
_OK, _PARTIAL, _NOTHING_LEFT, _TOO_MANY = 200, 206, 416, 429
_LONGEST_WAIT = 60.0
_SCHEMES = ("https", "http", "file")


def fetch(
    wanted: IndexFile,
    folder: Path,
    *,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
    pause: Callable[[float], None] = time.sleep,
) -> Path:
    """Fetch a file into a folder.

    A connection that breaks is taken up where it broke, a few times. Proxies and the CA bundle are those of the
    process (`SSL_CERT_FILE`).

    Args:
        wanted: The file.
        folder: Where it goes; must be there.
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
            _download(wanted, receiver, progress, pause)
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
    progress: Callable[[int, int], None] = lambda _done, _all: None,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Fetch a file into the store, where an earlier run may have left the beginning of it.

    A file that turns out to be another one is fetched once more from its beginning: what was left may have been wrong.

    Args:
        wanted: The file.
        store: Where it goes, under its hash.
        progress: Told the bytes that are here, and those in all (0 when the server does not say).
        pause: Waits between two tries, in seconds.

    Raises:
        SourceUnreachable: The server does not answer, or does not have it.
        VerificationFailed: It is not what its hash says; nothing is left of it.
        DiskFull: There is no room.
    """
    try:
        _receive(wanted, store, progress, pause)
    except VerificationFailed:
        try:
            _receive(wanted, store, progress, pause)
        except VerificationFailed as error:
            raise VerificationFailed(
                f"{wanted.file}: {error.message}",
                hint="the index or a proxy gives another file; try again, or name another index: --index URL",
            ) from error


def length_of(wanted: IndexFile) -> int:
    """Bytes of a file, asked of its server without fetching it; 0 when it does not say."""
    if wanted.size:
        return wanted.size
    request = urllib.request.Request(wanted.url, method="HEAD")  # noqa: S310  schemes are checked by the callers
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:  # noqa: S310
            return _announced(response)
    except (OSError, HTTPException):
        return 0


def _receive(
    wanted: IndexFile, store: Store, progress: Callable[[int, int], None], pause: Callable[[float], None]
) -> None:
    with store.receiving(f"sha256:{wanted.sha256}") as receiver:
        if receiver:
            _download(wanted, receiver, progress, pause)


def _download(
    wanted: IndexFile, receiver: Receiver, progress: Callable[[int, int], None], pause: Callable[[float], None]
) -> None:
    if urlsplit(wanted.url).scheme not in _SCHEMES:
        raise SourceUnreachable(f"{wanted.file}: its address is not one that can be fetched")
    problem = ""
    for attempt in range(1, _TRIES + 1):
        wait = float(attempt)
        try:
            if _follow(wanted, receiver, progress):
                return
            problem = "the connection ended early"
        except urllib.error.HTTPError as error:
            problem = f"the server answers {error.code} {error.reason}"
            wait = max(wait, _asked_to_wait(error.headers.get("Retry-After")))
            error.close()
            if not _may_change(error.code, receiver):
                break
        except (OSError, HTTPException) as error:
            _refuse_full_disk(error)
            problem = str(getattr(error, "reason", "") or error) or type(error).__name__
        if attempt < _TRIES:
            pause(wait)
    raise SourceUnreachable(
        f"{wanted.file} cannot be fetched: {problem}", hint="check network, proxy and CA bundle (SSL_CERT_FILE)"
    )


def _may_change(code: int, receiver: Receiver) -> bool:
    """Whether asking again can help."""
    if code == _NOTHING_LEFT and receiver.size:
        receiver.restart()  # What an earlier run left is longer than the file.
        return True
    return code >= 500 or code == _TOO_MANY


def _refuse_full_disk(error: Exception) -> None:
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
        raise error


def _asked_to_wait(header: str | None) -> float:
    """Seconds that a server asks us to wait, no more than a minute; 0 when it does not."""
    return min(float(header), _LONGEST_WAIT) if header and header.isdigit() else 0.0


def _follow(wanted: IndexFile, receiver: Receiver, progress: Callable[[int, int], None]) -> bool:
    """Read on from where the file ends; whether it is complete now."""
    have = receiver.size
    request = urllib.request.Request(wanted.url, headers={"Range": f"bytes={have}-"} if have else {})  # noqa: S310
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:  # noqa: S310  schemes are checked above
        if have and getattr(response, "status", _OK) != _PARTIAL:
            receiver.restart()
        total = receiver.size + _announced(response)
        while chunk := response.read(CHUNK):
            receiver.write(chunk)
            progress(receiver.size, total)
    return receiver.size >= total


def _announced(response: HTTPResponse) -> int:
    length = response.headers.get("Content-Length") or ""
    return int(length) if length.isdigit() else 0

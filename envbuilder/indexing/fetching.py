"""Fetch one file whose hash is known; it gets its name only when the hash is right."""

from __future__ import annotations

import hashlib
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from envbuilder.errors import SourceUnreachable, VerificationFailed
from envbuilder.files import CHUNK
from envbuilder.indexing.index import IndexFile

_TRIES = 4
_TIMEOUT = 60.0
_OK, _PARTIAL = 200, 206
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
    if urlsplit(wanted.url).scheme not in _SCHEMES:
        raise SourceUnreachable(f"{wanted.file}: its address is not one that can be fetched")
    part = folder / f".{wanted.file}.part"
    try:
        with part.open("w+b") as stream:
            _download(wanted, stream, progress, pause)
            stream.seek(0)
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if digest != wanted.sha256:
            raise VerificationFailed(
                f"{wanted.file} has sha256 {digest}, not {wanted.sha256}",
                hint="the index or a proxy gave another file; try again, or name another index",
            )
        return part.replace(folder / wanted.file)
    finally:
        part.unlink(missing_ok=True)


def _download(
    wanted: IndexFile, stream: BinaryIO, progress: Callable[[int, int], None], pause: Callable[[float], None]
) -> None:
    for attempt in range(1, _TRIES + 1):
        try:
            if _follow(wanted, stream, progress):
                return
            problem = "the connection ended early"
        except urllib.error.HTTPError as error:
            problem = f"the server answers {error.code} {error.reason}"
            error.close()
            if error.code < 500:
                break
        except (OSError, HTTPException) as error:
            problem = str(getattr(error, "reason", "") or error) or type(error).__name__
        if attempt < _TRIES:
            pause(float(attempt))
    raise SourceUnreachable(
        f"{wanted.file} cannot be fetched: {problem}", hint="check network, proxy and CA bundle (SSL_CERT_FILE)"
    )


def _follow(wanted: IndexFile, stream: BinaryIO, progress: Callable[[int, int], None]) -> bool:
    """Read on from where the file ends; whether it is complete now."""
    have = stream.seek(0, 2)
    request = urllib.request.Request(wanted.url, headers={"Range": f"bytes={have}-"} if have else {})  # noqa: S310
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:  # noqa: S310  schemes are checked above
        if have and getattr(response, "status", _OK) != _PARTIAL:
            stream.truncate(0)
            have = stream.seek(0)
        total = have + _announced(response)
        while chunk := response.read(CHUNK):
            stream.write(chunk)
            have += len(chunk)
            progress(have, total)
    return have >= total


def _announced(response: HTTPResponse) -> int:
    length = response.headers.get("Content-Length") or ""
    return int(length) if length.isdigit() else 0

"""Upload of one blob: in chunks, resumed where the registry stopped, also by a later run; verified while it is read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import urlencode

from envbuilder.core.errors import EnvbuilderError, SourceUnreachable, VerificationFailed
from envbuilder.core.http.limits import SECONDS, decimal
from envbuilder.core.http.retries import Patience
from envbuilder.oci.images import Descriptor
from envbuilder.oci.registry.client import Repository
from envbuilder.oci.registry.failures import Interrupted, SessionLost
from envbuilder.oci.registry.parallel import TransferState
from envbuilder.oci.registry.transport import Answer
from envbuilder.oci.registry.upload_records import UploadRecord

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

PIECE = 64 << 20
"""Bytes in one request: the most that is lost if a registry discards an interrupted request."""

_LARGEST_PIECE = 1 << 50  # larger than any blob: the whole of it in one request
_BLOCK = 1 << 17  # one write may take 20 s: a larger block needs a faster connection
_COMMIT_RATE = 10 << 20
_COMMIT_MOST = 300.0
_UPLOADS = "blobs/uploads/"
_RANGE = re.compile(r"(?:bytes=)?0-([0-9]{1,18})")
_SESSION_GONE = (404, 416)


@dataclass(slots=True, kw_only=True)
class UploadSession:
    """An upload session of a registry.

    Attributes:
        location: Address for the next piece.
        position: Bytes that the registry has.
        smallest: Minimum size in bytes of every piece but the last.
    """

    location: str
    position: int
    smallest: int


def mount(repository: Repository, blob: Descriptor) -> bool:
    """Mount a blob from the registry's other repositories; return True if one of them had it."""
    for other in repository.others:
        path = f"{_UPLOADS}?{urlencode({'mount': blob.digest, 'from': other})}"
        request = repository.request("POST", path, f"blob {blob.digest} from {other}")
        try:
            with repository.send(request, (201, 202)) as answer:
                if answer.status == 201:
                    return True
        except Interrupted:
            raise
        except SourceUnreachable:  # a repository that may not be read is skipped
            continue
        _cancel(repository, _session(answer))
    return False


@dataclass(slots=True, kw_only=True)
class Upload:
    """Upload of one blob.

    Attributes:
        item: Its name in reports.
        record: Where a later run finds this upload.
        piece: Bytes in one request.
    """

    repository: Repository
    blob: Descriptor
    item: str
    stream: BinaryIO
    watch: TransferState
    record: UploadRecord = field(default_factory=UploadRecord)
    piece: int = PIECE
    _is_taken_over: bool = field(default=False, init=False)
    _hash: Hash = field(default_factory=hashlib.sha256, init=False)
    _hashed: int = field(default=0, init=False)

    def run(self) -> None:
        """Send the whole blob.

        Raises:
            SourceUnreachable: The registry does not respond, refuses, or loses the upload repeatedly.
            VerificationFailed: The content does not match the digest; the registry has not stored it.
        """
        session = self._of_earlier_run()
        patience = Patience(self.repository.pacing)
        while True:
            try:
                session = session or self._begin()
                self._fill(session)
            except Interrupted as error:
                if not patience.lasts(
                    asked=error.asked, stalled=error.stalled, position=session.position if session else 0
                ):
                    raise
                session = self._taken_up(None if isinstance(error, SessionLost) else session, self._hashed)
                if session is None and self.repository.has_blob(self.blob.digest):
                    break  # only the response to the last request was lost
            else:
                break
        self.record.forget()

    @property
    def _subject(self) -> str:
        return f"upload of blob {self.blob.digest}"

    def _of_earlier_run(self) -> UploadSession | None:
        """Return the session that an earlier run has recorded, if the registry still has it."""
        if not self.record.location:
            return None
        recorded = UploadSession(location=self.record.location, position=0, smallest=0)
        self.record.forget()
        try:
            session = self._taken_up(recorded, self.blob.size)
        except SourceUnreachable:  # an address of another time may lead anywhere
            return None
        if session:
            for _ in self._pieces(0, session.position):  # only hashed
                pass
            self._is_taken_over = True
            self.record.keep(session.location)
        return session

    def _begin(self) -> UploadSession:
        request = self.repository.request("POST", _UPLOADS, self._subject)
        with self.repository.once(request, (202,)) as answer:
            session = _session(answer)
        self.record.keep(session.location)
        return session

    def _fill(self, session: UploadSession) -> None:
        while session.position < self.blob.size:
            self._send_piece(session)
        if f"sha256:{self._hash.hexdigest()}" != self.blob.digest:
            _cancel(self.repository, session)
            self.record.forget()
            raise VerificationFailed(
                f"the content for blob {self.blob.digest} has a different digest; it was not pushed",
                hint="run the command again: it creates or downloads the file again",
            )
        mark = "&" if "?" in session.location else "?"
        url = f"{session.location}{mark}digest={self.blob.digest}"
        request = replace(self.repository.request("PUT", url, self._subject), seconds=commit_seconds(self.blob.size))
        with self.repository.once(request, (201, 204, *self._gone)) as answer:
            if answer.status in self._gone:
                raise self._lost()

    def _send_piece(self, session: UploadSession) -> None:
        start = session.position
        end = min(start + max(self.piece, session.smallest), self.blob.size)
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Length": str(end - start),
            "Content-Range": f"{start}-{end - 1}",
        }
        request = self.repository.request(
            "PATCH", session.location, self._subject, headers=headers, body=lambda: self._pieces(start, end)
        )
        with self.repository.once(request, (201, 202, 204, *self._gone)) as answer:
            if answer.status in self._gone:
                raise self._lost()
            if _position(answer) not in {None, end}:
                raise Interrupted(f"{answer.subject}: the registry accepted only a part of it")
            session.location = answer.location or session.location
            session.position = end
        self.record.keep(session.location)

    def _pieces(self, start: int, end: int) -> Iterator[bytes]:
        self.stream.seek(start)
        while start < end:
            data = self.stream.read(min(_BLOCK, end - start))
            if not data:
                raise VerificationFailed(
                    f"the content for blob {self.blob.digest} is shorter than {self.blob.size} bytes",
                    hint="run the command again: it creates or downloads the file again",
                )
            self._see(start, data)
            start += len(data)
            yield data
            self.watch.report(self.item, start, self.blob.size)

    def _see(self, start: int, data: bytes) -> None:
        """Hash bytes that were not hashed before, since a piece may be read twice."""
        fresh = data[max(self._hashed - start, 0) :]
        self._hash.update(fresh)
        self._hashed += len(fresh)

    def _taken_up(self, session: UploadSession | None, most: int) -> UploadSession | None:
        """Return the session with the registry's position; None if it is lost, or has more bytes than it can have."""
        if session is None:
            return None
        request = self.repository.request("GET", session.location, self._subject)
        with self.repository.send(request, (200, 202, 204, 400, *_SESSION_GONE)) as answer:
            position = _position(answer)
            # "0-0" is one byte, or zero in some registries: https://github.com/distribution/distribution/issues/2363
            if answer.status >= 400 or not position or position == 1 or position > most:
                return None
            session.location = answer.location or session.location
            session.position = position
            return session

    @property
    def _gone(self) -> tuple[int, ...]:
        """Statuses after which the whole blob is sent; what an earlier run has sent may be refused as wrong."""
        return (400, *_SESSION_GONE) if self._is_taken_over else _SESSION_GONE

    def _lost(self) -> SessionLost:
        self._is_taken_over = False
        return SessionLost(
            f"{self.repository.place}: {self._subject}: the registry has lost it", hint="try again later"
        )


def commit_seconds(size: int) -> float:
    """Return the timeout for the response to the last request of an upload.

    The registry may read the blob again and copy it to its final place; 10 MiB per second are assumed.

    Example:
        >>> commit_seconds(1 << 20), commit_seconds(1 << 30), commit_seconds(1 << 40)
        (20.1, 122.4, 300.0)
    """
    return min(SECONDS + size / _COMMIT_RATE, _COMMIT_MOST)


def _session(answer: Answer) -> UploadSession:
    if not answer.location:
        raise SourceUnreachable(f"{answer.subject}: the registry does not say where to", hint="ask its operator")
    smallest = decimal(answer.headers.get("OCI-Chunk-Min-Length"), _LARGEST_PIECE)
    return UploadSession(location=answer.location, position=0, smallest=smallest)


def _position(answer: Answer) -> int | None:
    """Return the bytes that the registry has; None if it does not state them."""
    found = _RANGE.fullmatch(answer.headers.get("Range", "").strip())
    return int(found[1]) + 1 if found else None


def _cancel(repository: Repository, session: UploadSession) -> None:
    """Cancel the session; a registry discards it eventually anyway."""
    request = repository.request("DELETE", session.location, "an upload that is given up")
    try:
        repository.once(request, (200, 202, 204, 404)).close()
    except EnvbuilderError:
        return

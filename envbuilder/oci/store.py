"""Content-addressed store of everything downloaded or assembled, each file under its own sha256.

Several processes may use one store. A file receives its name only after its content is complete and its digest is
verified. A killed process leaves partial files, never a wrong file: downloads are resumed, and abandoned partial
files are removed by `sweep`.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from envbuilder.core.digests import digits_of, is_digest, verified
from envbuilder.core.errors import DiskFull, VerificationFailed
from envbuilder.core.file_locks import hold, hold_now, locked, open_lock
from envbuilder.core.files import CHUNK, open_regular

_ALGORITHM = "sha256:"
_SETTLED = 0o444
_PART_NAME = re.compile(r"new-.+|[0-9a-f]{64}")
_PART = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class ReceivedBytes:
    """Count of the bytes that were downloaded into a store; thread-safe."""

    def __init__(self) -> None:
        self._bytes = 0
        self._lock = threading.Lock()

    def add(self, count: int) -> None:
        """Add bytes."""
        with self._lock:
            self._bytes += count

    def take(self) -> int:
        """Return the bytes since the last call, and begin again."""
        with self._lock:
            count, self._bytes = self._bytes, 0
            return count


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Files by digest, as `<folder>/sha256/<two digits>/<62 digits>`.

    Attributes:
        folder: Created on first use.
        trusted: Files that this process has read or written as a whole, and thereby verified.
        check: Called before each write of a new file; raises an exception to cancel it.
        received: Bytes that this process has downloaded.
    """

    folder: Path
    trusted: set[Path] = field(default_factory=set)
    check: Callable[[], None] = lambda: None
    received: ReceivedBytes = field(default_factory=ReceivedBytes)

    def path(self, digest: str) -> Path:
        """Return the path of the file with this digest, which need not exist.

        Raises:
            ValueError: It is not a sha256 digest; untrusted names never become paths.
        """
        name = digits_of(digest)
        return self.folder / "sha256" / name[:2] / name[2:]

    def has(self, digest: str, size: int | None = None) -> bool:
        """Return True if there is a file with this digest, and with this size in bytes if given; it is not read."""
        try:
            status = self.path(digest).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return stat.S_ISREG(status.st_mode) and size in {None, status.st_size}

    def verified(self, digest: str) -> Path:
        """Return the path of the file with this digest, read as a whole once in each process.

        Raises:
            FileNotFoundError: There is no such file.
            VerificationFailed: It has changed since it was written. It is removed, so that the next run gets it again.
        """
        return verified(self.path(digest), digest, self.trusted)

    def read(self, digest: str) -> bytes:
        """Return the content of a small file, verified; errors as in `verified`."""
        return self.verified(digest).read_bytes()

    def put(self, content: bytes) -> str:
        """Store bytes; return their digest."""
        with self.writing() as writer:
            writer.write(content)
        return writer.digest

    def take(self, file: Path, expected: str = "") -> str:
        """Store a copy of a regular file; return its digest; `expected` and errors as in `writing`."""
        with open_regular(file) as stream, self.writing(expected) as writer:
            shutil.copyfileobj(stream, writer, CHUNK)
        return writer.digest

    @contextmanager
    def writing(self, expected: str = "") -> Iterator[Writer]:
        """Open a new file whose digest is known when the block ends; remove it after an error.

        Args:
            expected: Required digest; empty for any.

        Raises:
            VerificationFailed: The digest differs.
            DiskFull: No space is left.
        """
        part = self._made("parts") / f"new-{uuid.uuid4().hex}"
        try:
            with full_disk(part), _exclusive(part) as stream:
                writer = Writer(stream, self.check)
                yield writer
                stream.flush()
                if expected and writer.digest != expected:
                    raise VerificationFailed(f"the created content has the digest {writer.digest}, not {expected}")
                self._settle(part, writer.digest)
        finally:
            part.unlink(missing_ok=True)

    @contextmanager
    def receiving(self, digest: str) -> Iterator[Receiver | None]:
        """Open a file to append the content of a digest; it begins with what earlier processes received.

        One process receives a file at a time; the others wait, and receive None after it is complete. After an error in
        the block, the partial content is kept for the next run.

        Raises:
            VerificationFailed: The content does not match; it is removed.
            DiskFull: No space is left; the partial content is kept for the next run.
        """
        part = self._made("parts") / digits_of(digest)
        with full_disk(part), _exclusive(part) as stream:
            if self.has(digest):
                part.unlink(missing_ok=True)
                yield None
                return
            receiver = Receiver(stream)
            try:
                yield receiver
            finally:
                self.received.add(receiver.fresh)
            stream.flush()
            if receiver.digest != digest:
                part.unlink(missing_ok=True)
                raise VerificationFailed(f"the downloaded content has the digest {receiver.digest}, not {digest}")
            self._settle(part, digest)

    def only_one(self, name: str) -> AbstractContextManager[None]:
        """Hold an exclusive lock on a name, for processes and threads.

        Args:
            name: Letters, digits, `-` and `.`.
        """
        return locked(self._made("waiting") / name)

    def shared(self, name: str) -> AbstractContextManager[None]:
        """Hold a shared lock on a name while the block runs; see `is_held`."""
        return locked(self._made("waiting") / name, shared=True)

    def is_held(self, name: str) -> bool:
        """Return True if a name is locked."""
        path = self.folder / "waiting" / name
        if not path.exists():
            return False
        handle = open_lock(path)
        try:
            return not hold_now(handle, path)
        finally:
            os.close(handle)

    def used(self) -> AbstractContextManager[None]:
        """Prevent pruning while the block runs; others may use the store too."""
        return locked(self._made() / "gate", shared=True)

    def alone(self) -> AbstractContextManager[None]:
        """Wait until the store is unused, and block other users while the block runs."""
        return locked(self._made() / "gate")

    def entries(self) -> Iterator[tuple[str, int, float]]:
        """Yield digest, bytes and modification time of every file in no particular order; skip unrelated files."""
        for path in self.folder.glob("sha256/*/*"):
            digest = f"{_ALGORITHM}{path.parent.name}{path.name}"
            with suppress(FileNotFoundError):
                status = path.stat()
                if is_digest(digest):
                    yield digest, status.st_size, status.st_mtime

    def remove(self, digest: str) -> int:
        """Remove a file; return the bytes freed, 0 if it was missing or has other names too."""
        path = self.path(digest)
        self.trusted.discard(path)
        try:
            status = path.stat()
            path.unlink()
        except FileNotFoundError:
            return 0
        return status.st_size if status.st_nlink == 1 else 0

    def sweep(self) -> int:
        """Remove the partial files of killed processes, resumable downloads too; return the bytes freed."""
        freed = 0
        for part in (self.folder / "parts").glob("*"):
            if not _PART_NAME.fullmatch(part.name):
                continue
            with suppress(OSError):
                if not stat.S_ISREG(part.lstat().st_mode):
                    part.unlink()
                    continue
                with open_regular(part) as stream:
                    # A process that still writes holds the lock.
                    if hold_now(stream.fileno(), part):
                        freed += part.stat().st_size
                        part.unlink()
        return freed

    def _made(self, name: str = "") -> Path:
        """Return the directory, or one in it; create it if it is missing."""
        place = self.folder / name
        place.mkdir(parents=True, exist_ok=True)
        return place

    def _settle(self, part: Path, digest: str) -> None:
        target = self.path(digest)
        target.parent.mkdir(parents=True, exist_ok=True)
        part.chmod(_SETTLED)
        part.replace(target)
        self.trusted.add(target)


class Writer:
    """Writer that digests and counts bytes.

    Args:
        stream: Receives the bytes.
        check: Called before each write.

    Attributes:
        size: Bytes written so far.
    """

    def __init__(self, stream: BinaryIO, check: Callable[[], None] = lambda: None) -> None:
        self._check = check
        self._stream = stream
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self._check()
        self._hash.update(data)
        self.size += len(data)
        self._stream.write(data)

    @property
    def digest(self) -> str:
        """`sha256:…` of the bytes written so far."""
        return f"{_ALGORITHM}{self._hash.hexdigest()}"


class Receiver(Writer):
    """`Writer` that continues at the end of a partial file.

    Attributes:
        size: Bytes received so far, including those of earlier runs.
        fresh: Bytes received in this run, including discarded ones.
    """

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        self.fresh = 0
        stream.seek(0)
        while chunk := stream.read(CHUNK):
            self._hash.update(chunk)
            self.size += len(chunk)

    def write(self, data: bytes) -> None:
        """See `Writer.write`."""
        super().write(data)
        self.fresh += len(data)

    def restart(self) -> None:
        """Discard the partial content, if the source cannot continue at its end."""
        self._stream.seek(0)
        self._stream.truncate()
        self._hash = hashlib.sha256()
        self.size = 0


@contextmanager
def full_disk(place: Path) -> Iterator[None]:
    """Translate the errors of a full disk into DiskFull.

    Raises:
        DiskFull: No space is left, or the quota is exceeded.
    """
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise DiskFull(
                f"no room left for {place.parent}",
                hint="`envbuilder cache prune` removes unneeded files, `--all` everything",
            ) from error
        raise


@contextmanager
def _exclusive(part: Path) -> Iterator[BinaryIO]:
    """Open a file for reading and writing under an exclusive lock.

    If the file was renamed while this process waited, it is opened again. A link, or a file with several names, is
    removed first, so that files outside the store are never written to.
    """
    while True:
        with suppress(FileNotFoundError):
            status = part.lstat()
            if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
                part.unlink()
        with os.fdopen(os.open(part, _PART, 0o666), "a+b") as stream:
            hold(stream.fileno(), part)
            try:
                current = part.stat().st_ino == os.fstat(stream.fileno()).st_ino
            except FileNotFoundError:
                current = False
            if current:
                yield stream
                return

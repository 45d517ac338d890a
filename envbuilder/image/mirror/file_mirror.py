"""A repository of a registry that provides files by their sha256 after their sources have failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from envbuilder.core.errors import SourceUnreachable, VerificationFailed
from envbuilder.core.references import ImageRef
from envbuilder.lock.index.index import IndexFile
from envbuilder.oci.images import Descriptor
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.parallel import TransferState, in_parallel
from envbuilder.oci.registry.pull import fetch_blobs
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import Transfer

_TYPE = "application/octet-stream"
_CONNECTIONS = 8


class FileMirror(Protocol):
    """A place that has files by their sha256."""

    def has(self, file: IndexFile) -> bool:
        """Return True if the mirror has a file.

        Raises:
            SourceUnreachable: It does not respond, or refuses.
        """
        ...

    def fetch_instead(
        self, error: SourceUnreachable, file: IndexFile, progress: Callable[[int, int], None] = lambda _done, _all: None
    ) -> None:
        """Fetch a file into the store in place of its source.

        Args:
            error: Failure of the source, which is raised unless the mirror has the file.
            file: The file; its address is ignored.
            progress: Receives the bytes so far, and the total.

        Raises:
            SourceUnreachable: The mirror does not have the file either, or does not respond.
            VerificationFailed: The mirror has other content under the sha256 of the file.
            DiskFull: There is no room.
        """
        ...


@dataclass(frozen=True, slots=True)
class NoMirror:
    """The mirror of a run without one."""

    def has(self, file: IndexFile) -> bool:  # noqa: ARG002  that of the port
        """See `FileMirror.has`."""
        return False

    def fetch_instead(
        self,
        error: SourceUnreachable,
        file: IndexFile,  # noqa: ARG002  that of the port
        progress: Callable[[int, int], None] = lambda _done, _all: None,  # noqa: ARG002
    ) -> None:
        """See `FileMirror.fetch_instead`."""
        raise error


NO_MIRROR = NoMirror()


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryMirror:
    """A repository whose blobs are files of locks: the sha256 of a file is the digest of its blob.

    Attributes:
        repository: The repository, as `HOST/NAME`.
        client: Returns the connections, which are shared by all requests of a run.
        store: Receives files.
    """

    repository: str
    client: Callable[[], RegistryClient]
    store: Store

    def has(self, file: IndexFile) -> bool:
        """See `FileMirror.has`."""
        return self._size(file) is not None

    def fetch_instead(
        self, error: SourceUnreachable, file: IndexFile, progress: Callable[[int, int], None] = lambda _done, _all: None
    ) -> None:
        """See `FileMirror.fetch_instead`."""
        try:
            self._fetch(file, progress)
        except SourceUnreachable as second:
            raise both_failed(error, second) from second
        except VerificationFailed as wrong:
            raise VerificationFailed(
                f"{file.file}: the mirror {self.repository} has other content under its sha256: {wrong.message}",
                hint="the registry or a proxy is faulty; use another mirror: --mirror HOST/NAME",
            ) from wrong

    def _fetch(self, file: IndexFile, progress: Callable[[int, int], None]) -> None:
        stated = self._size(file)
        if stated is None:
            raise SourceUnreachable(f"{self.repository} does not have {file.file} either")
        size = stated or file.size
        if not size:
            raise SourceUnreachable(f"{self.repository} does not state the size of {file.file}")

        def report(transfer: Transfer) -> None:
            progress(transfer.current, transfer.total)

        blob = Descriptor(media_type=_TYPE, digest=f"sha256:{file.sha256}", size=size)
        fetch_blobs(self.client(), self._reference, (blob,), self.store, listener=report)

    def _size(self, file: IndexFile) -> int | None:
        return self.client().repository(self._reference).blob_size(f"sha256:{file.sha256}")

    @property
    def _reference(self) -> ImageRef:
        return ImageRef.parse(self.repository)


def lacking_files(mirror: FileMirror, files: Sequence[IndexFile], error: SourceUnreachable) -> list[IndexFile]:
    """Return the files that a mirror does not have, in their order.

    Raises:
        SourceUnreachable: The same failure, with that of the mirror if it does not respond.
    """
    try:
        there = in_parallel(mirror.has, files, connections=_CONNECTIONS, watch=TransferState())
    except SourceUnreachable as second:
        raise both_failed(error, second) from second
    return [file for file, is_there in zip(files, there, strict=True) if not is_there]


def both_failed(error: SourceUnreachable, second: SourceUnreachable) -> SourceUnreachable:
    """Return the failure of a source, with that of the mirror in its message."""
    error.message = f"{error.message}; mirror: {second.message}"
    error.args = (error.message,)
    return error

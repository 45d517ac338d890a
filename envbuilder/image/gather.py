"""Collection of every file that a lock needs in the store, as for a bundle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from envbuilder.core.errors import (
    EnvbuilderError,
    LicenseNotAccepted,
    NotOnIndex,
    SourceUnreachable,
    VerificationFailed,
)
from envbuilder.core.memory_policy import HOOK
from envbuilder.image.base.deb_trees import DebTrees
from envbuilder.image.base_contents import BaseContents
from envbuilder.image.bundle import files_of
from envbuilder.image.layers.ports import PackageFiles
from envbuilder.image.pinned_files import PinnedFiles
from envbuilder.image.vendor.libraries import ArchiveFiles
from envbuilder.lock.index.index import IndexFile
from envbuilder.lock.lock import Lock, OwnFile, PackagePin, ToolName
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import Listener, ignore, reported


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """Files of a lock that could not be fetched."""

    names: tuple[str, ...]
    error: EnvbuilderError


@dataclass(frozen=True, slots=True, kw_only=True)
class Gatherer:
    """Fetches the files of locks.

    Attributes:
        progress: Progress callback; receives one line of text.
        listener: Receives the bytes of each file that were fetched so far.
    """

    store: Store
    files: PinnedFiles
    packages: PackageFiles
    debian: DebTrees
    archives: ArchiveFiles
    bases: BaseContents
    progress: Callable[[str], None]
    listener: Listener = ignore

    def gather(self, lock: Lock) -> tuple[str, ...]:
        """Fetch the files of a lock that are not in the store; return the digests of all files that a rebuild needs.

        Raises:
            SourceUnreachable: A file is not on this machine and cannot be fetched.
            VerificationFailed: A server has another file under its name.
        """
        for failure in self.fetch(lock):
            raise failure.error
        base = self.bases.open(lock)
        tree = base.content.provide()
        digests = [self.store.take(tree)] if tree else [layer.blob.digest for layer in base.layers]
        return (*files_of(lock), *digests)

    def fetch(self, lock: Lock) -> Iterator[Unavailable]:
        """Fetch the files of a lock that are not in the store, without its base; yield those that are unavailable.

        A failure does not keep the files after it from being fetched, if the caller goes on.
        """
        yield from self._fetch_packages(lock)
        yield from self._fetch_os_packages(lock)
        for archive in lock.archives:
            if not self.store.has(f"sha256:{archive.sha256}"):
                yield from _attempted(
                    (archive.file,), partial(self.archives.fetch, archive, reported(self.listener, archive.file))
                )
        if lock.python.sha256:
            yield from _attempted((lock.python.file,), lambda: self.store.take(self.files.archive(lock)))
        for tool in (ToolName.PROBE, HOOK):
            yield from _attempted((f"the tool {tool}",), partial(self.files.tool, lock, tool))
        for file in lock.files:
            if not self.store.has(f"sha256:{file.sha256}"):
                yield Unavailable(names=(file.path,), error=_not_here(file))

    def _fetch_packages(self, lock: Lock) -> Iterator[Unavailable]:
        # A distribution to install may be a build dependency too.
        pins = {pin.sha256: pin for pin in lock.packages}
        missing = [pin for pin in pins.values() if not self.store.has(f"sha256:{pin.sha256}")]
        found: Sequence[IndexFile] = ()
        try:
            found = self._located(missing, lock.python.version.series)
        except NotOnIndex as error:
            yield Unavailable(names=error.files, error=error)
            there = [pin for pin in missing if pin.file not in error.files]
            found = self._located(there, lock.python.version.series)
        except SourceUnreachable as error:
            yield Unavailable(names=tuple(pin.file for pin in missing), error=error)
        for file in found:
            self.progress(f"fetching {file.file}")
            yield from _attempted((file.file,), partial(self.packages.fetch, file, reported(self.listener, file.file)))

    def _located(self, pins: Sequence[PackagePin], series: str) -> Sequence[IndexFile]:
        return self.packages.locate(pins, series) if pins else ()

    def _fetch_os_packages(self, lock: Lock) -> Iterator[Unavailable]:
        pins = [pin for pin in lock.all_os_packages if pin.sha256 and pin.file]
        try:
            failures = self.debian.fetch_all(lock.base.kind, pins)
        except SourceUnreachable as error:
            missing = [pin.file for pin in pins if not self.store.has(f"sha256:{pin.sha256}")]
            yield Unavailable(names=tuple(missing), error=error)
            return
        for failure in failures:
            yield Unavailable(names=(failure.pin.file,), error=failure.error)


def _not_here(file: OwnFile) -> SourceUnreachable:
    return SourceUnreachable(
        f"the own file {file.path} with sha256 {file.sha256} is not on this machine",
        hint="run the command beside the envbuilder.yaml of the lock",
    )


def _attempted(names: tuple[str, ...], step: Callable[[], object]) -> Iterator[Unavailable]:
    """Run a step; yield its failure."""
    try:
        step()
    except (LicenseNotAccepted, SourceUnreachable, VerificationFailed) as error:
        yield Unavailable(names=names, error=error)

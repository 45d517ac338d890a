"""Sources of files with a mirror as fallback, which is used only after a source has failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from envbuilder.catalog.archives import ArchivePin
from envbuilder.core.errors import NotOnIndex, SourceUnreachable
from envbuilder.image.layers.ports import PackageFiles
from envbuilder.image.mirror.file_mirror import FileMirror, lacking_files
from envbuilder.image.vendor.libraries import ArchiveFiles
from envbuilder.lock.index.index import IndexFile
from envbuilder.lock.lock import PackagePin


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredPackages:
    """`PackageFiles` with a mirror for the files that the index no longer lists, or does not deliver."""

    packages: PackageFiles
    mirror: FileMirror

    def locate(self, pins: Sequence[PackagePin], python: str) -> Sequence[IndexFile]:
        """See `PackageFiles.locate`; a file that only the mirror has is returned without an address.

        Raises:
            SourceUnreachable: The failure of the index, if the mirror lacks one of the files that it concerns.
        """
        try:
            return self.packages.locate(pins, python)
        except NotOnIndex as error:
            listed = [pin for pin in pins if pin.file not in error.files]
            found = {file.sha256: file for file in (self.packages.locate(listed, python) if listed else ())}
            return self._completed(pins, found, error)
        except SourceUnreachable as error:
            return self._completed(pins, {}, error)

    def fetch(self, file: IndexFile, progress: Callable[[int, int], None]) -> None:
        """See `PackageFiles.fetch`."""
        if not file.url:
            self.mirror.fetch_instead(NotOnIndex((file.file,)), file, progress)
            return
        try:
            self.packages.fetch(file, progress)
        except SourceUnreachable as error:
            self.mirror.fetch_instead(error, file, progress)

    def _completed(
        self, pins: Sequence[PackagePin], found: dict[str, IndexFile], error: SourceUnreachable
    ) -> Sequence[IndexFile]:
        """Return the files of pins, those that were not found from the mirror; raise the error if it lacks some."""
        missing = [
            IndexFile(file=pin.file, sha256=pin.sha256, url="", size=pin.size)
            for pin in pins
            if pin.sha256 not in found
        ]
        lacking = lacking_files(self.mirror, missing, error)
        if lacking and isinstance(error, NotOnIndex):
            raise NotOnIndex(tuple(file.file for file in lacking)) from error
        if lacking:
            raise error
        every = found | {file.sha256: file for file in missing}
        return [every[pin.sha256] for pin in pins]


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredArchives:
    """`ArchiveFiles` with a mirror for the archives that their publisher does not deliver.

    Attributes:
        files: The publishers; licenses are refused there, before a mirror is asked.
    """

    files: ArchiveFiles
    mirror: FileMirror

    def fetch(self, pin: ArchivePin, progress: Callable[[int, int], None]) -> None:
        """See `ArchiveFiles.fetch`."""
        try:
            self.files.fetch(pin, progress)
        except SourceUnreachable as error:
            self.mirror.fetch_instead(
                error, IndexFile(file=pin.file, sha256=pin.sha256, url="", size=pin.size), progress
            )

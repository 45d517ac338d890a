"""OSV databases on disk: a directory or a zip file of JSON documents, or one document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.archives.limits import ArchiveLimits
from envbuilder.core.archives.member_names import BadArchive
from envbuilder.core.archives.zip_reader import opened
from envbuilder.core.errors import Fault, InvalidInput, UsageError
from envbuilder.core.files import read_regular

_LARGEST = 16 << 20
"""Bytes of a document; those about the Linux kernel list some thousand versions and have a few MiB."""

_LIMITS = ArchiveLimits(member=_LARGEST, total=16 << 30, members=1_000_000)
_SUFFIX = ".json"
_HINT = "specify a directory or a zip file of OSV documents: https://google.github.io/osv.dev/data/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """A database that the user names.

    Attributes:
        name: As the user named it.
        path: A directory, a zip file, or a document.
    """

    name: str
    path: Path

    def documents(self) -> Iterator[tuple[str, bytes | OSError]]:
        """Yield name and content of each document, or why it cannot be read; in the order of a zip, else sorted.

        Raises:
            UsageError: There is no such file.
            InvalidInput: It is a damaged zip file, or exceeds the limits of archives.
        """
        if not self.path.exists():
            raise UsageError(f"vulnerability database not found: {self.name}", hint=_HINT)
        if self.path.is_dir():
            yield from (
                (str(file.relative_to(self.path)), _content(file))
                for file in sorted(self.path.rglob(f"*{_SUFFIX}"))
                if file.is_file()
            )
        elif self.path.name.endswith(_SUFFIX):
            yield self.path.name, _content(self.path)
        else:
            yield from self._members()

    def _members(self) -> Iterator[tuple[str, bytes]]:
        try:
            with opened(self.path, _LIMITS) as archive:
                for info in archive.members:
                    if info.filename.endswith(_SUFFIX):
                        yield info.filename, b"".join(archive.pieces(info))
        except BadArchive as error:
            raise self._refused(str(error)) from error
        except OSError as error:
            raise self._refused(error.strerror or str(error)) from error

    def _refused(self, problem: str) -> InvalidInput:
        problem = f"is not a usable zip file: {problem}"
        return InvalidInput((Fault(file=self.name, line=0, field="", problem=problem),), hint=_HINT)


def _content(file: Path) -> bytes | OSError:
    try:
        return read_regular(file, _LARGEST)
    except OSError as error:
        return error

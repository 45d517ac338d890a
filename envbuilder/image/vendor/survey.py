"""Survey of a vendor archive: its paths and links, and the file that a path leads to."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field

from envbuilder.core.archives.member_names import BadArchive
from envbuilder.image.vendor.archive_members import ArchiveEntry

_MOST_LINKS = 40
"""Maximum number of symbolic links that Linux follows in a path (path_resolution(7))."""

_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSurvey:
    """The paths of an archive.

    Attributes:
        sizes: Bytes of each file.
        numbers: Position of each file among the members, from 0.
        links: Target of each symbolic link.
        same: Path of the file that each hard link names.
    """

    sizes: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)

    def file(self, path: str) -> str:
        """Return the path of the file that a path leads to.

        Raises:
            BadArchive: There is none, or a link on the way leads out of the archive.
        """
        found = self._resolved(path)
        found = self.same.get(found, found)
        if found not in self.sizes:
            raise BadArchive(f"it does not contain {path}{self._elsewhere(posixpath.basename(path))}")
        return found

    def named(self, name: str) -> tuple[str, ...]:
        """Return the paths with a file name, sorted."""
        paths = (*self.sizes, *self.links, *self.same)
        return tuple(sorted(path for path in paths if posixpath.basename(path) == name))

    def _elsewhere(self, name: str) -> str:
        found = self.named(name)
        return f", but {', '.join(found[:_SHOWN])}" if found else ""

    def _resolved(self, path: str) -> str:
        """Return a path without symbolic links."""
        left = path.split("/")
        done: list[str] = []
        followed = 0
        while left:
            part = left.pop(0)
            if part == "..":
                if not done:
                    raise BadArchive(f"a link on the way to {path!r} leads outside")
                done.pop()
                continue
            target = self.links.get("/".join([*done, part]))
            if target is None:
                done.append(part)
                continue
            followed += 1
            if target.startswith("/") or followed > _MOST_LINKS:
                raise BadArchive(f"the link {'/'.join([*done, part])!r} leads outside or in a circle, to {target!r}")
            left = [each for each in target.split("/") if each not in {"", "."}] + left
        return "/".join(done)


def survey(found: Iterable[ArchiveEntry]) -> ArchiveSurvey:
    """Return the paths of an archive; of two members with one path, the later counts, as for tar."""
    seen = ArchiveSurvey()
    for number, member in enumerate(found):
        for known in (seen.sizes, seen.links, seen.same):
            known.pop(member.path, None)
        if member.target:
            seen.links[member.path] = member.target
        elif member.same_as:
            seen.same[member.path] = seen.same.get(member.same_as, member.same_as)
        elif member.is_file:
            seen.sizes[member.path] = member.size
            seen.numbers[member.path] = number
    return seen

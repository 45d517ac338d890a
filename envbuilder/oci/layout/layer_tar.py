"""Tar of a layer as members of a tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from envbuilder.core.archives.tar_reader import TarReader, TarStream
from envbuilder.oci.tar.members import Member, member_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerMember:
    """One member of a layer.

    Attributes:
        member: The member; its path is inside the tree, and `.` for the root itself.
        link_to: Path of the member that it is a hard link to; empty if it is not one.
    """

    member: Member
    link_to: str


class LayerTar:
    """One layer, read once.

    Args:
        stream: The tar.
        subject: Its name in errors.
    """

    def __init__(self, stream: TarStream, subject: str) -> None:
        self._tar = TarReader(stream, subject)
        self.content = self._tar.content

    def members(self) -> Iterator[LayerMember]:
        """Yield the members in order; the content of one can be read until the next is requested.

        Raises:
            BadArchive: The tar is damaged, or contains a member that is not allowed in an image.
        """
        for entry in self._tar.entries():
            yield LayerMember(member=member_of(entry), link_to=entry.link_to)

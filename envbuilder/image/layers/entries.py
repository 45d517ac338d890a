"""Entries of a layer: members of a tar, some of which are packed in a wheel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.errors import VerificationFailed
from envbuilder.core.image_paths import impossible, parents
from envbuilder.oci.tar.headers import encoded
from envbuilder.oci.tar.members import EPOCH, Kind, Member

_LEAVE_OUT = "remove that package or file from envbuilder.yaml, then run `envbuilder lock`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spliced:
    """A deflate stream in another file.

    Attributes:
        offset: Start of the stream.
        size: Its bytes.
        crc: CRC-32 of the unpacked content, from the zip.
    """

    file: Path
    offset: int
    size: int
    crc: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One path of a layer.

    Attributes:
        member: The member; if it is spliced, `member.open` is not used.
        spliced: Place of its packed content; None for content that has to be packed.
        origin: Distribution that contains it; empty for generated entries.
    """

    member: Member
    spliced: Spliced | None = None
    origin: str = ""

    @property
    def path(self) -> str:
        """Relative path in the image."""
        return self.member.path


def folder(path: str) -> Entry:
    """Return a directory owned by root."""
    return Entry(member=Member(path=path, kind=Kind.FOLDER, mode=0o755, mtime=EPOCH))


def link(path: str, target: str) -> Entry:
    """Return a symbolic link."""
    return Entry(member=Member(path=path, kind=Kind.SYMLINK, mode=0o777, mtime=EPOCH, target=target))


def text(path: str, content: bytes, *, mode: int = 0o644, origin: str = "") -> Entry:
    """Return a small file owned by root."""
    return Entry(
        member=Member(path=path, kind=Kind.FILE, mode=mode, mtime=EPOCH).holding(content),
        origin=origin,
    )


def _brought_by(entry: Entry) -> str:
    return f"{entry.origin} brings" if entry.origin else "it holds"


def completed(entries: Iterable[Entry]) -> list[Entry]:
    """Return entries with all directories above them, in the order of a layer; for equal paths the last is kept.

    Raises:
        VerificationFailed: A path cannot be in an image, or is below a file or a link of the same layer.
    """
    found: dict[str, Entry] = {}
    for entry in entries:
        if reason := impossible(entry.path):
            raise VerificationFailed(f"{_brought_by(entry)} /{entry.path}: {reason}", hint=_LEAVE_OUT)
        if entry.member.xattrs and entry.member.kind is Kind.FILE:
            raise VerificationFailed(
                f"{_brought_by(entry)} /{entry.path} with extended attributes, such as capabilities", hint=_LEAVE_OUT
            )
        found[entry.path] = entry
    for path in list(found):
        for parent in parents(path):
            above = found.get(parent)
            if above is None:
                found[parent] = folder(parent)
            elif above.member.kind is Kind.FOLDER:
                break
            else:
                raise VerificationFailed(
                    f"{_brought_by(found[path])} /{path}, but /{parent} is a file or a link"
                    f"{f' of {above.origin}' if above.origin else ''}",
                    hint=_LEAVE_OUT,
                )
    return sorted(found.values(), key=lambda entry: encoded(entry.path))

"""Reading the tar of a layer from front to end, trusting nothing in it.

The standard library's reader is left aside on purpose: it needs a stream that can go back, and follows its own rules
for links and long names.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field

from envbuilder.delivering.packed import Unpacked
from envbuilder.errors import VerificationFailed
from envbuilder.tar.headers import BLOCK, encoded
from envbuilder.tar.members import Kind, Member

_CHUNK = 1 << 20
_LARGEST_EXTRA = 1 << 22
_NONE = bytes(BLOCK)
_KINDS = {
    tarfile.REGTYPE: Kind.FILE,
    tarfile.AREGTYPE: Kind.FILE,
    tarfile.CONTTYPE: Kind.FILE,
    tarfile.LNKTYPE: Kind.FILE,
    tarfile.DIRTYPE: Kind.FOLDER,
    tarfile.SYMTYPE: Kind.SYMLINK,
    tarfile.CHRTYPE: Kind.CHARACTER,
    tarfile.BLKTYPE: Kind.BLOCK,
    tarfile.FIFOTYPE: Kind.PIPE,
}
_DEVICES = frozenset({Kind.CHARACTER, Kind.BLOCK})
_XATTR = "SCHILY.xattr."
_SPARSE = "GNU.sparse."


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One member of a layer.

    Attributes:
        member: What it is; its path is inside the tree, and `.` for the root itself.
        link_to: Path of the member that it is a hard link to; empty when it is none.
    """

    member: Member
    link_to: str


def inside(name: str, subject: str) -> str:
    """A path of a tar as a path in the tree, without `./` and double slashes.

    Raises:
        VerificationFailed: It is absolute, leads out of the tree, is longer than Linux allows, or has more than 256
            parts: what goes through trees, also in the standard library, calls itself for each.
    """
    parts = [part for part in name.split("/") if part not in {"", "."}]
    if name.startswith("/") or ".." in parts or "\0" in name:
        raise VerificationFailed(f"{subject} holds the path {name!r}, which leads out of the image")
    if len(name) > 255 and _too_long(name, parts):
        raise VerificationFailed(f"{subject} holds a path that is too long or too deep: {name[:80]!r}…")
    return "/".join(parts) or "."


def _too_long(name: str, parts: list[str]) -> bool:
    return len(encoded(name)) > 3500 or len(parts) > 256 or max(map(len, map(encoded, parts)), default=0) > 255


class LayerTar:
    """One layer, read once.

    Args:
        stream: The tar.
        subject: What it is called in errors.
    """

    def __init__(self, stream: Unpacked, subject: str) -> None:
        self._stream = stream
        self._subject = subject
        self._content = 0
        self._padding = 0

    def members(self) -> Iterator[Found]:
        """The members in their order; the content of one can be read until the next is asked for.

        Raises:
            VerificationFailed: The tar is broken, or holds something that an image must not.
        """
        common: dict[str, str] = {}
        extra = _Extra()
        while (info := self._header()) is not None:
            if info.type == tarfile.XGLTYPE:
                common |= self._records(info)
            elif info.type in {tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}:
                extra.note_long(info.type, self._whole(info.size))
            elif info.type in {tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE}:
                extra.records |= self._records(info)
            else:
                found = self._found(info, extra, common)
                self._content = found.member.size if not found.link_to else 0
                self._padding = -self._content % BLOCK
                yield found
                self._leave()
                extra = _Extra()

    def content(self) -> Iterator[bytes]:
        """The content of the last member, in pieces of at most 1 MiB."""
        while self._content:
            piece = self._stream.read(min(self._content, _CHUNK))
            if not piece:
                raise self._cut_off()
            self._content -= len(piece)
            yield piece

    def _leave(self) -> None:
        left = self._content + self._padding
        self._content = self._padding = 0
        if left and self._stream.skip(left) != left:
            raise self._cut_off()

    def _header(self) -> tarfile.TarInfo | None:
        block = self._stream.read(BLOCK)
        if not block or block == _NONE:
            return None
        if len(block) < BLOCK:
            raise self._cut_off()
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")

    def _whole(self, size: int) -> bytes:
        if size > _LARGEST_EXTRA:
            raise VerificationFailed(f"{self._subject} holds a header of {size} bytes")
        data = self._stream.read(size)
        if len(data) < size or self._stream.skip(-size % BLOCK) != -size % BLOCK:
            raise self._cut_off()
        return data

    def _records(self, info: tarfile.TarInfo) -> dict[str, str]:
        """The records of a PAX header: `LENGTH KEY=VALUE` and a line end, where the length counts itself."""
        rest, records = self._whole(info.size), dict[str, str]()
        while rest.strip(b"\0"):
            digits, _, _ = rest.partition(b" ")
            length = int(digits) if digits.isdigit() else 0
            key, equals, value = rest[len(digits) + 1 : length - 1].partition(b"=")
            if not equals or rest[length - 1 : length] != b"\n":
                raise VerificationFailed(f"{self._subject} holds a PAX header that cannot be read")
            records[key.decode("utf-8", "surrogateescape")] = value.decode("utf-8", "surrogateescape")
            rest = rest[length:]
        return records

    def _found(self, info: tarfile.TarInfo, extra: _Extra, common: dict[str, str]) -> Found:
        records = common | extra.records
        kind = _KINDS.get(info.type)
        if kind is None or any(key.startswith(_SPARSE) for key in records):
            raise VerificationFailed(f"{self._subject} holds {info.name!r}, of a kind that images do not have")
        path = inside(records.get("path") or extra.path or info.name, self._subject)
        target = records.get("linkpath") or extra.target or info.linkname
        is_link = info.type == tarfile.LNKTYPE
        member = Member(
            path=path,
            kind=kind,
            mode=info.mode & 0o7777,
            mtime=int(info.mtime),
            uid=self._number(records, "uid", info.uid),
            gid=self._number(records, "gid", info.gid),
            size=self._number(records, "size", info.size) if kind is Kind.FILE else 0,
            target=target if kind is Kind.SYMLINK else "",
            device=(info.devmajor, info.devminor) if kind in _DEVICES else (0, 0),
            xattrs=_xattrs(records) if records else (),
        )
        return Found(member=member, link_to=inside(target, self._subject) if is_link else "")

    def _number(self, records: dict[str, str], key: str, otherwise: int) -> int:
        value = records.get(key, "")
        number = int(value) if value.isdecimal() else otherwise
        if number < 0:
            raise VerificationFailed(f"{self._subject} holds a negative {key}")
        return number

    def _cut_off(self) -> VerificationFailed:
        return VerificationFailed(f"{self._subject} ends in the middle of a member")


@dataclass(slots=True)
class _Extra:
    """What headers before a member say about it."""

    path: str = ""
    target: str = ""
    records: dict[str, str] = field(default_factory=dict)

    def note_long(self, typeflag: bytes, data: bytes) -> None:
        name = data.partition(b"\0")[0].decode("utf-8", "surrogateescape")
        if typeflag == tarfile.GNUTYPE_LONGNAME:
            self.path = name
        else:
            self.target = name


def _xattrs(records: dict[str, str]) -> tuple[tuple[str, bytes], ...]:
    found = ((key, value) for key, value in sorted(records.items()) if key.startswith(_XATTR))
    return tuple((key, value.encode("utf-8", "surrogateescape")) for key, value in found)

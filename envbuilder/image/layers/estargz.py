"""eStargz: gzip layers whose files can be fetched and verified one by one, by a table of contents at their end.

Every file is at least one gzip member, every 4 MiB of a larger one are. So a snapshotter reads what a program touches,
while everybody else sees an ordinary layer with two more files.

Source: https://github.com/containerd/stargz-snapshotter/blob/v0.18.0/docs/estargz.md
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from isal import isal_zlib

from envbuilder.core.canonical_json import canonical_json
from envbuilder.core.digests import digest_of
from envbuilder.core.errors import VerificationFailed
from envbuilder.core.image_paths import parents
from envbuilder.image.layers.compression import Digesting, GzipMembersSink, Watch, read
from envbuilder.image.layers.compressors import GzipCompressor
from envbuilder.image.layers.deflate import MEMBER_HEAD, member_tail, packed, stored_block
from envbuilder.image.layers.deflate_blocks import cut
from envbuilder.image.layers.entries import Entry, Spliced
from envbuilder.image.layers.inflate import damaged
from envbuilder.image.layers.zlib_library import Deflate
from envbuilder.oci.documents import timestamp
from envbuilder.oci.tar.headers import END, headers, padding
from envbuilder.oci.tar.members import EPOCH, Kind, Member, file_of

CONTENTS = "stargz.index.json"
"""Path of the table of contents in the tar."""

NO_PREFETCH = ".no.prefetch.landmark"
"""Path of the file that says that nothing is fetched before a container starts."""

PREFETCH = ".prefetch.landmark"
"""Path of the file up to which a layer is fetched, in few requests, before a container starts."""

LARGEST_CHUNK = 4 << 20
"""Maximum size in bytes of a chunk, unpacked; the default of stargz-snapshotter (`chunkSize` of its writer)."""

_LANDMARK = b"\x0f"
_RESERVED = {CONTENTS, NO_PREFETCH, PREFETCH}
_XATTR = "SCHILY.xattr."
_TYPES = {
    Kind.FILE: "reg",
    Kind.SYMLINK: "symlink",
    Kind.CHARACTER: "char",
    Kind.BLOCK: "block",
    Kind.FOLDER: "dir",
    Kind.PIPE: "fifo",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of a file that can be unpacked alone.

    Attributes:
        offset: Start of its gzip member in the blob.
        size: Its bytes, unpacked.
        digest: `sha256:…` of them.
    """

    offset: int
    size: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefetch:
    """What a snapshotter fetches of a layer before a container starts.

    Attributes:
        whole: Whether that is all of it, if no file is named.
        files: Named files, as absolute paths; those of the layer up to `LARGEST_CHUNK` are written first and fetched.
            Larger ones are read in chunks, so that fetching a whole one would fetch what nobody reads.
    """

    whole: bool = False
    files: frozenset[str] = frozenset()

    def is_first(self, entry: Entry) -> bool:
        """Return True for an entry that is written before the landmark because it is named."""
        member = entry.member
        return member.kind is Kind.FILE and member.size <= LARGEST_CHUNK and f"/{entry.path}" in self.files


NOTHING = Prefetch()


def with_landmark(entries: Iterable[Entry], prefetch: Prefetch = NOTHING) -> Iterator[Entry]:
    """Yield the entries of a layer, and the file that says which part of it is fetched before a container starts.

    Raises:
        VerificationFailed: An entry has a path that the format reserves, or one that its JSON cannot hold.
    """
    checked = [*map(_representable, entries)]
    if prefetch.whole and not prefetch.files:
        yield from checked
        yield Entry(member=file_of(PREFETCH, _LANDMARK, mtime=EPOCH))
        return
    named = [entry.path for entry in checked if prefetch.is_first(entry)]
    first = {*named, *(folder for path in named for folder in parents(path))}
    yield from (entry for entry in checked if entry.path in first)
    yield Entry(member=file_of(PREFETCH if named else NO_PREFETCH, _LANDMARK, mtime=EPOCH))
    yield from (entry for entry in checked if entry.path not in first)


def _representable(entry: Entry) -> Entry:
    if entry.path in _RESERVED or not _is_utf8(entry.path + entry.member.target):
        raise VerificationFailed(
            f"{entry.path!a} cannot be in an eStargz layer: the name is reserved or not UTF-8",
            hint="use --layer-format gzip-spliced, or remove the file",
        )
    return entry


def described(member: Member, link_to: str = "") -> dict[str, object]:
    """Return the entry of the table of contents for a member, without its chunks."""
    entry: dict[str, object] = {
        "name": f"{member.path}/" if member.kind is Kind.FOLDER else member.path,
        "type": "hardlink" if link_to else _TYPES[member.kind],
        "mode": member.mode,
        "uid": member.uid,
        "gid": member.gid,
        "modtime": timestamp(max(member.mtime, 0)),
    }
    if target := link_to or member.target:
        entry["linkName"] = target
    if member.kind in {Kind.CHARACTER, Kind.BLOCK}:
        entry["devMajor"], entry["devMinor"] = member.device
    if member.xattrs and not link_to:
        entry["xattrs"] = {key.removeprefix(_XATTR): base64.b64encode(value).decode() for key, value in member.xattrs}
    return entry


def with_chunks(entry: dict[str, object], chunks: Sequence[Chunk], digest: str) -> Iterator[dict[str, object]]:
    """Yield the entries of a file that is not empty: its own with the first chunk, then one for each further chunk.

    Args:
        entry: Its own, from `described`.
        chunks: Its chunks, in order.
        digest: `sha256:…` of the file.
    """
    start = 0
    last = len(chunks) - 1
    for number, chunk in enumerate(chunks):
        place: dict[str, object] = {"offset": chunk.offset, "chunkDigest": chunk.digest}
        if number != last:
            place["chunkSize"] = chunk.size
        if number:
            yield {"name": entry["name"], "type": "chunk", "chunkOffset": start} | place
        else:
            yield entry | {"size": sum(each.size for each in chunks), "digest": digest} | place
        start += chunk.size


def footer(offset: int) -> bytes:
    """Return the end of a blob: an empty gzip member with the offset of the table of contents."""
    text = b"%016xSTARGZ" % offset
    extra = b"SG" + struct.pack("<H", len(text)) + text
    head = bytearray(MEMBER_HEAD)
    head[3] = 4  # the flag for an extra field
    return bytes(head) + struct.pack("<H", len(extra)) + extra + stored_block(b"", final=True) + member_tail(0, 0)


class EstargzSink(GzipMembersSink):
    """Gzip with at least one member for each file, and a table of contents.

    Args:
        deflate: Compresses what cannot be taken from a wheel as it is.
    """

    def __init__(self, write: Callable[[bytes], object], tar: Digesting, deflate: Deflate) -> None:
        super().__init__(write, tar)
        self._deflate = deflate
        self._entries: list[dict[str, object]] = []

    def _begin(self, member: Member, link_to: str) -> None:
        self._entries.append(described(member, link_to))
        super()._begin(member, link_to)

    def _content(self, stream: BinaryIO, size: int) -> None:
        self._end_member()
        whole, chunks = Digesting(), []
        for data in _cut(read(stream, size), LARGEST_CHUNK):
            whole.write(data)
            self._tar.write(data)
            chunks.append(Chunk(offset=self._out.size, size=len(data), digest=digest_of(data)))
            self._out.write(self._member(data))
        self._add(chunks, whole.digest)

    def _splice(self, spliced: Spliced, size: int, watch: Watch) -> None:
        self._end_member()
        if size > LARGEST_CHUNK:
            self._cut(spliced, size, watch)
            return
        offset, digest = self._out.size, Digesting()
        self._out.write(MEMBER_HEAD)
        for data in self._reader.inflated(spliced, size, self._out.write):
            watch(data)
            digest.write(data)
            self._tar.write(data)
        self._out.write(member_tail(spliced.crc, size))
        self._add([Chunk(offset=offset, size=size, digest=digest.digest)], digest.digest)

    def _finish(self) -> str:
        """See `Sink`; the table of contents is the last file of the tar."""
        self._end_member()
        text = canonical_json({"version": 1, "entries": self._entries})
        header = b"".join(headers(file_of(CONTENTS, text, mtime=EPOCH)))
        tail = header + text + padding(len(text)) + END
        self._tar.write(tail)
        offset = self._out.size
        self._out.write(self._member(tail))
        self._out.write(footer(offset))
        return digest_of(text)

    def _cut(self, spliced: Spliced, size: int, watch: Watch) -> None:
        whole, crc, chunks = Digesting(), 0, []
        try:
            for stream, data in cut(self._reader.pieces(spliced), LARGEST_CHUNK, self._deflate):
                if whole.size + len(data) > size:
                    raise damaged(spliced.file, f"it has more than {size} bytes")
                watch(data)
                whole.write(data)
                self._tar.write(data)
                crc = isal_zlib.crc32(data, crc)
                chunks.append(Chunk(offset=self._out.size, size=len(data), digest=digest_of(data)))
                self._out.write(packed(data, stream))
        except zlib.error as error:
            raise damaged(spliced.file, str(error)) from error
        if (whole.size, crc) != (size, spliced.crc):
            raise damaged(spliced.file, f"it has {whole.size} bytes and CRC {crc:08x}")
        self._add(chunks, whole.digest)

    def _add(self, chunks: Sequence[Chunk], digest: str) -> None:
        self._entries.extend(with_chunks(self._entries.pop(), chunks, digest))

    def _member(self, data: bytes) -> bytes:
        compressor = GzipCompressor(self._deflate)
        return compressor.compress(data) + compressor.flush()


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _cut(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yield the same bytes in pieces of one size; the last may be shorter."""
    pending = bytearray()
    for piece in pieces:
        pending += piece
        while len(pending) >= size:
            yield bytes(pending[:size])
            del pending[:size]
    if pending:
        yield bytes(pending)

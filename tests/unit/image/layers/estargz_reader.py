"""A reader of eStargz layers, written from the specification: it sees a blob by ranges only, as a snapshotter does.

Source: https://github.com/containerd/stargz-snapshotter/blob/v0.18.0/docs/estargz.md
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zlib
from typing import Any

from envbuilder.core.digests import digest_of

FOOTER = 51


class LazyLayer:
    """A layer of which only the footer and the table of contents were read.

    Args:
        blob: The layer.
        digest: `sha256:…` of the table of contents, from the manifest.

    Attributes:
        entries: The table of contents.
    """

    def __init__(self, blob: bytes, digest: str) -> None:
        self._blob = blob
        footer = blob[-FOOTER:]
        assert footer[:16] == b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x1a\0SG\x16\0"
        assert footer[32:38] == b"STARGZ"
        assert footer[38:] == b"\x01\0\0\xff\xff" + bytes(8)
        self._end = int(footer[16:32], 16)
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob[self._end : -FOOTER]))) as tail:
            assert tail.getnames() == ["stargz.index.json"]
            stream = tail.extractfile("stargz.index.json")
            assert stream is not None
            text = stream.read()
        assert digest_of(text) == digest
        contents = json.loads(text)
        assert contents["version"] == 1
        self.entries: list[dict[str, Any]] = contents["entries"]

    def entry(self, name: str) -> dict[str, Any]:
        """Return the entry of a path."""
        [entry] = [each for each in self.entries if each["name"] == name and each["type"] != "chunk"]
        return entry

    def chunks(self, name: str) -> list[tuple[int, int, str]]:
        """Return offset in the blob, unpacked size and digest of each chunk of a file that is not empty."""
        found = [each for each in self.entries if each["name"] == name]
        whole = found[0]
        assert whole["type"] == "reg"
        assert {each["type"] for each in found[1:]} <= {"chunk"}
        starts = [0, *(each["chunkOffset"] for each in found[1:])]
        sizes = [after - before for before, after in zip(starts, [*starts[1:], whole["size"]], strict=True)]
        # The last chunk has no size of its own.
        assert [each.get("chunkSize", 0) for each in found] == [*sizes[:-1], 0]
        return [(each["offset"], size, each["chunkDigest"]) for each, size in zip(found, sizes, strict=True)]

    def read(self, name: str) -> bytes:
        """Return a file, of which every chunk is unpacked alone and verified."""
        if not self.entry(name).get("size"):
            return b""
        content = b"".join(self._chunk(*each) for each in self.chunks(name))
        assert digest_of(content) == self.entry(name)["digest"]
        return content

    def _chunk(self, offset: int, size: int, digest: str) -> bytes:
        later = [each["offset"] for each in self.entries if each.get("offset", 0) > offset]
        member = zlib.decompressobj(wbits=31)
        data = member.decompress(self._blob[offset : min(later, default=self._end)])
        assert member.eof
        assert (len(data), digest_of(data)) == (size, digest)
        return data

"""What is packed gives no more than it may, in no more memory than it may."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable

import pytest

from envbuilder.core.archives.decompression import packing_by, unpacked
from envbuilder.core.archives.limits import ArchiveLimits, Budget
from envbuilder.core.archives.member_names import BadArchive

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "": bytes,
}  # fmt: skip
DATA = bytes(range(256)) * 300


def read(data: bytes, packing: str, budget: Budget) -> bytes:
    stream = io.BytesIO(data)
    assert packing_by(data[:6]) == packing
    with unpacked(stream, packing, budget) as plain:
        return plain.read()


@pytest.mark.parametrize("packing", sorted(PACKERS))
def test_every_packing_is_known_and_read(packing: str) -> None:
    assert read(PACKERS[packing](DATA), packing, Budget(1 << 20)) == DATA


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz"])
def test_streams_one_after_the_other_are_one(packing: str) -> None:
    assert read(PACKERS[packing](DATA) + PACKERS[packing](b"more"), packing, Budget(1 << 20)) == DATA + b"more"


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz"])
def test_a_bomb_is_stopped_at_its_limit(packing: str) -> None:
    limits = ArchiveLimits(free=1 << 20, ratio=10)
    bomb = PACKERS[packing](bytes(8 << 20))
    with pytest.raises(BadArchive, match="unpacks to more than 1048576 bytes"):
        read(bomb, packing, Budget(len(bomb), limits))


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz"])
@pytest.mark.parametrize("cut", [6, 30, -3])
def test_what_is_cut_off_is_damaged(packing: str, cut: int) -> None:
    with pytest.raises(BadArchive, match="it is damaged"):
        read(PACKERS[packing](DATA)[:cut], packing, Budget(1 << 20))


def test_xz_with_a_dictionary_of_gigabytes_gets_no_memory() -> None:
    """The size stands in the header: 1.5 GiB would be taken before the first byte comes out."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 4096}]
    data = bytearray(lzma.compress(DATA, filters=filters))
    # The header of the block begins after 12 bytes: size, flags, filter, length of its properties, the dictionary.
    assert data[14:16] == b"\x21\x01"
    data[16] = 39
    size = (data[12] + 1) * 4
    data[12 + size - 4 : 12 + size] = zlib.crc32(bytes(data[12 : 12 + size - 4])).to_bytes(4, "little")
    with pytest.raises(BadArchive, match=r"[Mm]emory"):
        read(bytes(data), "xz", Budget(1 << 20))

"""Every part of a cut stream is unpacked alone, however the stream was packed, and most of it is copied."""

from __future__ import annotations

import ctypes
import random
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from isal import isal_zlib

from envbuilder.image.layers.deflate import fixed_block, stored_block
from envbuilder.image.layers.deflate_blocks import WINDOW, cut
from envbuilder.image.layers.zlib_library import of_host, of_library

MOST = 2 * WINDOW
_random = random.Random(3)  # noqa: S311  content, not a secret
WORDS = [_random.randbytes(_random.randrange(1, 40)) for _ in range(300)]
TEXT = b"".join(_random.choice(WORDS) for _ in range(60_000))
NOISE = _random.randbytes(300_000)
ZEROS = bytes(900_000)
CONTENTS = {"text": TEXT, "noise": NOISE, "zeros": ZEROS, "mixed": TEXT[:200_000] + NOISE + ZEROS + TEXT}


def with_zlib(level: int, strategy: int = zlib.Z_DEFAULT_STRATEGY, flush: int = 0) -> Callable[[bytes], bytes]:
    def pack(content: bytes) -> bytes:
        packer = zlib.compressobj(level, zlib.DEFLATED, -15, 8, strategy)
        step = 10_000 if flush else len(content)
        parts = []
        for start in range(0, len(content), step):
            parts.append(packer.compress(content[start : start + step]))
            parts.append(packer.flush(flush) if flush else b"")
        return b"".join(parts) + packer.flush()

    return pack


def with_isal(content: bytes) -> bytes:
    packer = isal_zlib.compressobj(2, wbits=-15)
    return packer.compress(content) + packer.flush()


def stored(content: bytes) -> bytes:
    pieces = [content[start : start + 0xFFFF] for start in range(0, len(content), 0xFFFF)]
    return b"".join(stored_block(piece, final=piece is pieces[-1]) for piece in pieces)


PACKERS = {
    **{f"zlib {level}": with_zlib(level) for level in (0, 1, 6, 9)},
    "fixed codes": with_zlib(6, zlib.Z_FIXED),
    "no matches": with_zlib(6, zlib.Z_HUFFMAN_ONLY),
    "runs": with_zlib(6, zlib.Z_RLE),
    "sync flushes": with_zlib(6, flush=zlib.Z_SYNC_FLUSH),
    "full flushes": with_zlib(6, flush=zlib.Z_FULL_FLUSH),
    "isal": with_isal,
    "stored": stored,
    "one block": fixed_block,
}


def in_pieces(stream: bytes, size: int) -> Iterator[bytes]:
    return (stream[start : start + size] for start in range(0, len(stream), size))


def parts(stream: bytes, most: int = MOST, piece: int = 1 << 20) -> list[tuple[bytes, bytes]]:
    return list(cut(in_pieces(stream, piece), most, of_host))


def unpacked_alone(found: Iterable[tuple[bytes, bytes]], most: int = MOST) -> bytes:
    whole = b""
    for stream, content in found:
        one = zlib.decompressobj(-15)
        assert one.decompress(stream) == content
        assert (one.eof, one.unused_data) == (True, b"")
        assert 0 < len(content) <= most
        whole += content
    return whole


# A block of all of it takes long to make for other contents.
@pytest.mark.parametrize(
    ("packer", "content"), [*product(sorted(PACKERS.keys() - {"one block"}), CONTENTS), ("one block", "zeros")]
)
def test_every_part_is_unpacked_alone(packer: str, content: str) -> None:
    found = parts(PACKERS[packer](CONTENTS[content]))
    assert unpacked_alone(found) == CONTENTS[content]
    assert len(found) > 1


@settings(deadline=None, max_examples=20)
@given(
    pieces=st.lists(st.tuples(st.sampled_from(sorted(CONTENTS)), st.integers(0, 80_000)), max_size=5),
    packer=st.sampled_from(sorted(PACKERS.keys() - {"one block"})),
    size=st.integers(1, 70_000),
    most=st.integers(MOST, 300_000),
)
def test_the_parts_do_not_depend_on_the_pieces(
    pieces: list[tuple[str, int]], packer: str, size: int, most: int
) -> None:
    content = b"".join(CONTENTS[name][:length] for name, length in pieces) + b"end"
    stream = PACKERS[packer](content)
    found = parts(stream, most, max(size, len(stream) // 300))
    assert unpacked_alone(found, most) == content
    assert found == parts(stream, most)


def test_blocks_are_copied() -> None:
    """Of each part, only the window after the cut and the rest of a block are compressed again."""
    again: list[int] = []

    class Counting:
        def __init__(self) -> None:
            self.real = of_host()

        def compress(self, data: bytes, /) -> bytes:
            again.append(len(data))
            return self.real.compress(data)

        def flush(self, mode: int = zlib.Z_FINISH, /) -> bytes:
            return self.real.flush(mode)

    content = TEXT * 5
    stream = with_zlib(9)(content)
    most = 1 << 20
    found = list(cut([stream], most, Counting))
    assert unpacked_alone(found, most) == content
    assert len(again) == len(found) - 1
    assert max(again) < most // 3
    assert sum(len(part) for part, _ in found) < len(stream) * 1.1


def test_a_stream_that_fits_stays_as_it_is() -> None:
    stream = with_zlib(9)(TEXT)
    assert parts(stream, len(TEXT)) == [(stream, TEXT)]


def test_a_block_that_is_larger_than_a_part_is_compressed_again() -> None:
    found = parts(fixed_block(ZEROS))
    assert [len(content) for _, content in found] == [MOST] * (len(ZEROS) // MOST) + [len(ZEROS) % MOST]
    assert unpacked_alone(found) == ZEROS


def test_the_zlib_of_a_base_gives_the_same_parts() -> None:
    ctypes.CDLL("libz.so.1")
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    path = next(line.split()[-1] for line in maps if "/libz.so" in line)
    stream = with_zlib(9)(CONTENTS["mixed"])
    assert list(cut([stream], MOST, of_library(Path(path).read_bytes()))) == parts(stream)


@pytest.mark.parametrize("change", ["end", "more", "other"])
def test_a_damaged_stream_is_an_error(change: str) -> None:
    stream = with_zlib(6)(NOISE + TEXT)
    damaged = {"end": stream[:-5], "more": stream + b"x", "other": b"\7" + stream[1:]}[change]
    with pytest.raises(zlib.error):
        parts(damaged)
    with pytest.raises(zlib.error):
        parts(damaged, piece=1000)

"""Our own deflate streams are read by everybody, and their bytes are pinned."""

from __future__ import annotations

import gzip
import hashlib
import zlib

from hypothesis import given
from hypothesis import strategies as st

from envbuilder.image.layers.deflate import fixed_block, packed, stored_block
from envbuilder.oci.tar.headers import headers
from envbuilder.oci.tar.members import file_of

RUNS = st.lists(st.tuples(st.binary(max_size=40), st.integers(0, 1200)), max_size=6).map(
    lambda parts: b"".join(data + bytes(count) for data, count in parts)
)


@given(RUNS)
def test_a_block_with_runs_of_zeros_unpacks_to_what_it_was(data: bytes) -> None:
    assert zlib.decompress(fixed_block(data), wbits=-15) == data


@given(st.lists(st.binary(max_size=300), max_size=3))
def test_stored_blocks_unpack_to_what_they_were(pieces: list[bytes]) -> None:
    blocks = [stored_block(piece, final=False) for piece in pieces] + [stored_block(b"", final=True)]
    assert zlib.decompress(b"".join(blocks), wbits=-15) == b"".join(pieces)


def test_every_length_of_a_run_can_be_written() -> None:
    for length in range(1200):
        assert zlib.decompress(fixed_block(b"a" + bytes(length) + b"b"), wbits=-15) == b"a" + bytes(length) + b"b"


@given(RUNS)
def test_a_member_is_a_gzip_file(data: bytes) -> None:
    assert gzip.decompress(packed(data, fixed_block(data))) == data


def test_the_bytes_of_a_header_are_pinned() -> None:
    header = b"".join(headers(file_of("opt/venv/bin/python", b"x" * 7, mtime=1_700_000_000)))
    assert hashlib.sha256(header).hexdigest() == "bbb4f713c089e4b0abd72b072a0bd7f387674c0078083328aa5775d544d08c66"
    assert (
        hashlib.sha256(packed(header, fixed_block(header))).hexdigest()
        == "eb19473861f56101e03cbe50e74d602f0424856da59ae5fef51bad1ceaea5415"
    )

"""The bytes of the original zlib come from this Python, or from the base where this Python has a replacement."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.digests import digest_of_file
from envbuilder.core.errors import ToolFailed
from envbuilder.image.layers.zlib_library import Deflate, DeflateCompressor, is_original, of_host, of_library, original
from envbuilder.oci.tar.members import Kind, Member, opened_at

LIBRARY = Path("/lib/x86_64-linux-gnu/libz.so.1").resolve()
"""The zlib of Debian, as bases have it."""

DEFLATE = of_library(LIBRARY.read_bytes())


def replacement() -> DeflateCompressor:
    """What a replacement of zlib looks like from here: right streams, other bytes."""
    return zlib.compressobj(1, zlib.DEFLATED, -15)


def packed(deflate: Deflate, pieces: list[bytes]) -> bytes:
    stream = deflate()
    return b"".join([*(stream.compress(piece) for piece in pieces), stream.flush()])


def member(path: str, source: Path) -> Member:
    size = source.stat().st_size
    return Member(path=path, kind=Kind.FILE, mode=0o644, mtime=0, size=size, open=lambda: opened_at(source, 0))


def not_asked() -> Iterator[Member]:
    raise AssertionError("the base is not looked at where this Python has the original zlib")


@given(st.lists(st.binary(max_size=4000) | st.integers(1, 200_000).map(bytes), max_size=5))
def test_the_library_of_a_base_gives_the_bytes_of_the_original(pieces: list[bytes]) -> None:
    assert packed(DEFLATE, pieces) == packed(of_host, pieces)


def test_more_output_than_one_buffer_holds_is_whole() -> None:
    data = bytes((number * number * 2654435761 >> 7) & 0xFF for number in range(900_000))
    assert zlib.decompress(packed(DEFLATE, [data, data]), wbits=-15) == data + data


def test_a_python_with_the_original_zlib_uses_it() -> None:
    assert original(not_asked) is of_host


def test_a_python_with_a_replacement_uses_the_zlib_of_the_base(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"no library")
    base = [
        member("usr/lib/x86_64-linux-gnu/libzstd.so.1.5.4", other),
        member("usr/share/doc/libz.so.1.2.13", other),
        member("usr/lib/x86_64-linux-gnu/libz.so.1.2.13", LIBRARY),
    ]
    assert not is_original(replacement)
    # The machine of a developer need not have one of Debian's.
    assert is_original(original(lambda: base, replacement, {digest_of_file(LIBRARY).removeprefix("sha256:")}))


def test_without_the_original_in_either_the_format_that_needs_none_is_named() -> None:
    with pytest.raises(ToolFailed, match="a replacement such as zlib-ng") as caught:
        original(list, replacement)
    assert "--layer-format tar" in caught.value.hint


def test_a_library_that_is_not_known_is_never_loaded(tmp_path: Path) -> None:
    changed = tmp_path / "libz"
    changed.write_bytes(LIBRARY.read_bytes() + b"padding")
    with pytest.raises(ToolFailed, match="no zlib of Debian 11 to 13"):
        original(lambda: [member("lib/x86_64-linux-gnu/libz.so.1.2.13", changed)], replacement)


def test_a_library_that_cannot_be_loaded_is_told(tmp_path: Path) -> None:
    broken = tmp_path / "libz"
    broken.write_bytes(b"no library")
    with pytest.raises(ToolFailed, match="the zlib of the base cannot be loaded"):
        original(
            lambda: [member("lib/x86_64-linux-gnu/libz.so.1.2.13", broken)],
            replacement,
            {digest_of_file(broken).removeprefix("sha256:")},
        )


def test_another_library_is_another_one_though_the_first_stays_loaded() -> None:
    content = LIBRARY.read_bytes()
    assert of_library(content) is DEFLATE
    assert is_original(of_library(content + b"padding"))
    with pytest.raises(ToolFailed):
        of_library(b"no library")


def test_a_stream_that_is_not_finished_is_dropped() -> None:
    stream = DEFLATE()
    stream.compress(b"x" * 100)
    del stream
    assert is_original(DEFLATE)

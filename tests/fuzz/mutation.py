"""Strategies that damage honest input."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

Edit = Callable[[bytes], bytes]

TOKENS = (
    b"\0", b"\xff", b"\n", b"\r\n", b"\n\n", b"/", b"../", b"..", b"//", b"http://[", b":99999", b"=", b"@", b"-",
    b"[" * 200, b"{" * 200, b"(" * 200, b'"', b"'", b"\\", b"\x1b[2J", b"\xe2\x80\xae", b"\\ud800", b"\xed\xa0\x80",
    b"9" * 20, b"9" * 400, b"9" * 5000, b"-1", b"-60", b"0", b"1e400", b"NaN", b"Infinity", b"18446744073709551616",
    b"null", b"true", b"[]", b"{}", b'{"a":1,"a":2}', b"\xc2\xb2", b".wh.", b".wh..wh..opq", b"%s", b"{0}", b"!!python",
    b"&a [*a]", b"*a", b"<<: 1", b"---\n", b"a" * 300, b"a/" * 300, b"\0" * 512,
)  # fmt: skip
"""What has broken readers before; from the attack that `security.md` tells of, and from what each format reserves."""


def damaged(seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Draw one of some honest inputs, damaged in a few places; or, rarely, bytes without any sense."""

    def edited(seed: bytes, edits: list[Edit]) -> bytes:
        for edit in edits:
            seed = edit(seed)
        return seed

    return st.builds(edited, st.sampled_from(list(seeds)), st.lists(_edits(), max_size=6)) | st.binary(max_size=2000)


def _edits() -> st.SearchStrategy[Edit]:
    place = st.floats(min_value=0, max_value=1, allow_nan=False)
    return st.one_of(
        st.builds(_flipped, place, st.integers(min_value=0, max_value=255)),
        st.builds(_removed, place, st.integers(min_value=1, max_value=64)),
        st.builds(_repeated, place, st.integers(min_value=1, max_value=64), st.integers(min_value=1, max_value=40)),
        st.builds(_inserted, place, st.sampled_from(TOKENS) | st.binary(max_size=16)),
        st.builds(_cut, place),
        st.builds(_number_replaced, place, st.sampled_from(TOKENS)),
    )


def _at(data: bytes, place: float) -> int:
    return min(int(place * len(data)), max(len(data) - 1, 0))


def _flipped(place: float, value: int) -> Edit:
    return lambda data: data[: _at(data, place)] + bytes([value]) + data[_at(data, place) + 1 :]


def _removed(place: float, count: int) -> Edit:
    return lambda data: data[: _at(data, place)] + data[_at(data, place) + count :]


def _repeated(place: float, count: int, times: int) -> Edit:
    def edit(data: bytes) -> bytes:
        at = _at(data, place)
        return data[:at] + data[at : at + count] * times + data[at:]

    return edit


def _inserted(place: float, token: bytes) -> Edit:
    return lambda data: data[: _at(data, place)] + token + data[_at(data, place) :]


def _cut(place: float) -> Edit:
    return lambda data: data[: _at(data, place)]


def _number_replaced(place: float, token: bytes) -> Edit:
    """Put a token in the place of the first number behind a place."""

    def edit(data: bytes) -> bytes:
        start = _at(data, place)
        while start < len(data) and not data[start : start + 1].isdigit():
            start += 1
        end = start
        while end < len(data) and data[end : end + 1].isdigit():
            end += 1
        return data[:start] + token + data[end:]

    return edit

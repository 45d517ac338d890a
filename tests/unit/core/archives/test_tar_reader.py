"""A tar is read without believing anything that it says about itself."""

from __future__ import annotations

import io
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.archives.limits import ArchiveLimits, Budget
from envbuilder.core.archives.member_names import BadArchive
from envbuilder.core.archives.tar_reader import FileStream, PlainStream, TarEntry, TarReader
from tests.unit.core.archives.hostile import END, base256, header, octal, pax


def read(tar: bytes, budget: Budget | None = None) -> list[TarEntry]:
    by_stream = list(TarReader(PlainStream(io.BytesIO(tar)), "it", budget).entries())
    if budget is None:
        assert list(TarReader(FileStream(io.BytesIO(tar), len(tar)), "it").entries()) == by_stream
    return by_stream


BAD = {
    "negative size": header(size=base256(-512, 12)) + END,
    "huge size": header(size=base256(1 << 63, 12)) + END,
    "size over the end": header(size=octal(5000)) + bytes(512),
    "no digits": header(size=b"zzzzzzzzzzz\0") + END,
    "huge owner": header(uid=base256(1 << 50, 8)) + END,
    "no owner": header(uid=base256((1 << 32) - 1, 8)) + END,
    "negative group": header(gid=base256(-2, 8)) + END,
    "huge time": header(mtime=base256(1 << 80, 12)) + END,
    "negative time": header(mtime=base256(-(1 << 60), 12)) + END,
    "5,000 digits": pax((b"size", b"9" * 5000)) + header() + END,
    "digits of another script": pax((b"size", "٣".encode())) + header() + END,
    "negative size in a record": pax((b"size", b"-1")) + header() + END,
    "time in words": pax((b"mtime", b"now")) + header() + END,
    "owner in a record": pax((b"uid", b"99999999999")) + header() + END,
    "path in a record": pax((b"path", b"../../x")) + header() + END,
    "NUL in a path": pax((b"path", b"a\0b")) + header() + END,
    "record without a length": header(b"p", size=octal(6), flag=b"x") + b"0 a=b\n" + bytes(506) + header() + END,
    "record that is too long": header(b"p", size=octal(12), flag=b"x") + b"99999999 a=b" + bytes(500) + header() + END,
    "record with a length of 5,000 digits": header(b"p", size=octal(5010), flag=b"x")
    + b"9" * 5000 + b" a=bcdef\n\n" + bytes(-5010 % 512) + header() + END,
    "header of 1 GiB": header(b"p", size=octal(1 << 30), flag=b"x") + END,
    "name of 1 GiB": header(b"././@LongLink", size=octal(1 << 30), flag=b"L") + END,
    "negative header": header(b"p", size=base256(-512, 12), flag=b"x") + END,
    "a link in place of the directory itself": header(b"./", flag=b"2", link=b"etc") + END,
    "sparse": header(flag=b"S") + END,
    "unknown kind": header(flag=b"Z") + END,
    "link to nowhere": header(flag=b"2") + END,
    "hard link that leads out": header(flag=b"1", link=b"../../etc/shadow") + END,
    "absolute": header(b"/etc/passwd") + END,
    "without a name": header(b"") + END,
    "wrong checksum": header()[:-1] + b"x" + END,
    "broken header after a good one": header() + b"no header" * 64,
    "empty": b"",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(BAD))
def test_what_cannot_be_true_is_refused(name: str) -> None:
    with pytest.raises(BadArchive, match=r"^it "):
        read(BAD[name])


def test_records_replace_what_the_header_says() -> None:
    tar = pax((b"path", b"./a/b"), (b"uid", b"70000"), (b"mtime", b"1700000000.75"), (b"size", b"3"))
    [entry] = read(tar + header(mtime=octal(5)) + b"abc" + bytes(509) + END)
    assert (entry.path, entry.uid, entry.mtime, entry.size) == ("a/b", 70000, 1_700_000_000, 3)


def test_the_largest_owner_and_the_oldest_and_newest_time_are_read() -> None:
    tar = header(b"a", uid=base256((1 << 32) - 2, 8), mtime=base256(-(1 << 31), 12))
    tar += header(b"b", mtime=base256((1 << 34) - 1, 12))
    assert [(entry.uid, entry.mtime) for entry in read(tar + END)] == [(4294967294, -(1 << 31)), (0, (1 << 34) - 1)]


def test_a_tar_of_more_members_than_allowed_is_refused() -> None:
    limits = ArchiveLimits(members=3)
    assert len(read(header() * 3 + END, Budget(1, limits))) == 3
    with pytest.raises(BadArchive, match="more than 3 members"):
        read(header() * 4 + END, Budget(1, limits))
    with pytest.raises(BadArchive, match="more than 3 members"):
        read(pax((b"comment", b"x")) * 4 + header() + END, Budget(1, limits))


def test_a_member_that_is_larger_than_allowed_is_refused_before_it_is_read() -> None:
    with pytest.raises(BadArchive, match="claims 2000 bytes"):
        read(header(size=octal(2000)), Budget(1, ArchiveLimits(member=1000)))


@given(st.binary(max_size=3000))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(BadArchive):
        read(data)

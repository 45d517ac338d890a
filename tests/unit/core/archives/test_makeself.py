"""A run file of makeself is read without running it, and nothing that it says about itself is believed."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.archives.makeself import cksum, members, read_header, stream_of
from envbuilder.core.archives.member_names import BadArchive
from tests.fakes.run_files import EULA, NESTED, Form, crc_of, run_file
from tests.unit.core.archives.hostile import END, base256, header, octal
from tests.unit.image.base.deb.debs import tar_of

TREE = {"lib64": None, "lib64/libx.so.9.0": "libx.so.9.0.176", "lib64/libx.so.9.0.176": b"x" * 3000, "EULA.txt": EULA}
TAR = tar_of(TREE)
FILES = {"lib64/libx.so.9.0.176": b"x" * 3000, "EULA.txt": EULA}
ZEROS = {"CRCsum": "0000000000", "MD5": "0" * 32}


def read(run: bytes) -> dict[str, bytes]:
    """The files of a run file."""
    return {entry.path: b"".join(tar.content()) for entry, tar in members(io.BytesIO(run), len(run)) if entry.size}


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_each_form_of_the_header_and_each_packing_is_read(form: Form, pack: type[bytes]) -> None:
    assert read(run_file(pack(TAR), form=form)) == FILES


def test_links_are_reported_with_their_targets() -> None:
    run = run_file(TAR)
    links = {entry.path: entry.target for entry, _ in members(io.BytesIO(run), len(run)) if entry.target}
    assert links == {"lib64/libx.so.9.0": "libx.so.9.0.176"}


@given(st.integers(7, 3000))
def test_the_archive_begins_after_any_number_of_lines(lines: int) -> None:
    run = run_file(TAR, lines=lines)
    assert read_header(io.BytesIO(run)).size == len(run) - len(TAR)
    assert read(run) == FILES


def test_several_archives_are_read_in_order() -> None:
    other = gzip.compress(tar_of({"other": b"second"}))
    assert read(run_file(gzip.compress(TAR), other)) == FILES | {"other": b"second"}


@given(st.integers(1, 5000))
def test_a_run_file_is_read_from_a_stream_of_any_pieces(size: int) -> None:
    run = run_file(gzip.compress(TAR))
    pieces = (run[at : at + size] for at in range(0, len(run), size))
    found = {entry.path: b"".join(tar.content()) for entry, tar in members(stream_of(pieces), len(run)) if entry.size}
    assert found == FILES


def test_a_run_file_in_a_run_file_is_read_without_writing_it() -> None:
    inner = run_file(gzip.compress(TAR))
    outer = run_file(gzip.compress(tar_of({"run_files": None, NESTED: inner})))
    found = {}
    for entry, tar in members(io.BytesIO(outer), len(outer)):
        if entry.path == NESTED:
            for each, nested in members(stream_of(tar.content()), entry.size):
                found[each.path] = b"".join(nested.content())
    assert found["lib64/libx.so.9.0.176"] == b"x" * 3000


@given(st.binary(max_size=2000))
def test_the_checksum_is_that_of_the_program_cksum(content: bytes) -> None:
    reversed_bits = bytes(int(f"{byte:08b}"[::-1], 2) for byte in content)
    assert str(cksum(len(content), zlib.crc32(reversed_bits, 0xFFFFFFFF))) == crc_of(content)


def test_a_published_checksum_is_reproduced() -> None:
    # `printf 123456789 | cksum` prints this on every POSIX system.
    assert crc_of(b"123456789") == "930766865"


@pytest.mark.parametrize(
    ("fields", "stated"),
    [
        ({"MD5": "0" * 32}, "CRC"),
        ({"CRCsum": "0000000000"}, "md5"),
        (ZEROS | {"SHA": hashlib.sha256(TAR).hexdigest()}, "sha256"),
    ],
)
def test_an_altered_archive_is_refused_by_each_checksum(fields: dict[str, str], stated: str) -> None:
    run = run_file(TAR, fields=fields)
    assert read(run) == FILES
    altered = run.replace(b"x" * 3000, b"x" * 2999 + b"y")
    with pytest.raises(BadArchive, match=stated):
        read(altered)


def test_a_run_file_without_checksums_is_read() -> None:
    assert read(run_file(TAR, fields=ZEROS)) == FILES


def test_a_wrong_crc_is_ignored_beside_an_md5_as_makeself_does() -> None:
    assert read(run_file(TAR, fields={"CRCsum": "12345"})) == FILES


@given(st.data())
def test_a_truncated_run_file_is_refused(data: st.DataObject) -> None:
    run = run_file(gzip.compress(TAR), fields=ZEROS)
    cut = data.draw(st.integers(0, len(run) - 1))
    with pytest.raises(BadArchive):
        read(run[:cut])


def test_a_stream_that_ends_early_is_refused() -> None:
    run = run_file(TAR)
    with pytest.raises(BadArchive, match="early"):
        list(members(io.BytesIO(run[:-600]), len(run)))


def test_bytes_after_the_archive_are_refused_only_if_the_header_states_the_whole_size() -> None:
    assert read(run_file(TAR) + b"more") == FILES
    with pytest.raises(BadArchive, match="claims"):
        read(run_file(TAR, fields={"totalsize": str(len(TAR))}) + b"more")


BAD_HEADERS = {
    "empty": b"",
    "no script": b"\x7fELF" + bytes(5000),
    "a tar": TAR,
    "no end of line": b"#!/bin/sh" + b"x" * (1 << 20),
    "endless lines": b"#!/bin/sh\n" + b"echo\n" * (1 << 20),
    "no number of lines": run_file(TAR, claims="x"),
    "makeself 1.6": b'#!/bin/sh\nskip=3\nMD5="' + b"0" * 32 + b'"\n' + TAR,
    "makeself 2.0": b"#!/bin/sh\nCRCsum=12\ntail +3 $0\n" + TAR,
    "more lines than there are": run_file(TAR, claims="900000000000000"),
    "fewer lines than there are": run_file(TAR, claims="3"),
    "no size": run_file(TAR, fields={"filesizes": ""}),
    "size in words": run_file(TAR, fields={"filesizes": "many"}),
    "size of 20 digits": run_file(TAR, fields={"filesizes": "9" * 20}),
    "size over the end": run_file(TAR, fields={"filesizes": str(len(TAR) + 1)}),
    "size within the archive": run_file(TAR, fields=ZEROS | {"filesizes": "700"}),
    "no archive": run_file(fields={"filesizes": "0"}),
    "packed by another program": run_file(b"\x28\xb5\x2f\xfd" + TAR, fields=ZEROS),
}


@pytest.mark.parametrize("run", BAD_HEADERS.values(), ids=BAD_HEADERS)
def test_a_header_that_cannot_be_believed_is_refused(run: bytes) -> None:
    with pytest.raises(BadArchive):
        read(run)


HOSTILE = {
    "absolute": header(b"/etc/passwd") + END,
    "above": header(b"lib64/../../x") + END,
    "sparse": header(b"f", flag=b"S") + END,
    "over the end": header(b"f", size=octal(1 << 30)) + END,
    "hard link that leads out": header(b"f", flag=b"1", link=b"../../etc/shadow") + END,
}


@pytest.mark.parametrize("tar", HOSTILE.values(), ids=HOSTILE)
def test_members_that_lead_out_are_refused(tar: bytes) -> None:
    with pytest.raises(BadArchive):
        read(run_file(gzip.compress(tar)))


def test_the_limits_of_archives_apply() -> None:
    with pytest.raises(BadArchive, match="no more than"):
        read(run_file(gzip.compress(header(b"f", size=base256(17 << 30, 12)) + END)))

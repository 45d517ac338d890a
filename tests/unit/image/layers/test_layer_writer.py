"""A layer is a pure function of its entries; everybody can read it, and damage is found."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envbuilder.core.errors import VerificationFailed
from envbuilder.image.layers.compressors import GzipCompressor
from envbuilder.image.layers.entries import Entry, completed, link, text
from envbuilder.image.layers.layer_writer import Packed, Packing, write_layer, write_tar
from envbuilder.image.layers.wheel_file import open_wheel
from envbuilder.image.layers.wheels import Prefix, installed
from envbuilder.image.layers.zlib_library import host_deflate
from envbuilder.oci.images import LayerFormat
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import Kind, Member, file_of, of_tar
from envbuilder.oci.tar.writing import write
from tests.unit.image.layers.wheels import damage_stream, patched, wheel

PREFIX = Prefix(venv="opt/venv", series="3.8")
CONTENTS = {
    "toy/__init__.py": b"",
    "toy/tiny.py": b"x = 1\n",
    "toy/text.py": b"line\n" * 500,
    "toy/zeros.bin": bytes(3_000_000),
    "toy/noise.bin": bytes((number * 7919) % 251 for number in range(70_000)),
}


def entries_of(path: Path) -> list[Entry]:
    return completed(installed(open_wheel(path, path.name), PREFIX))


def unpacked(store: Store, packed: Packed) -> dict[str, bytes]:
    tar = gzip.decompress(store.read(packed.digest))
    assert f"sha256:{hashlib.sha256(tar).hexdigest()}" == packed.diff_id
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        return {member.name: _content(archive, member) for member in archive if member.isfile()}


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(member)
    assert stream is not None
    return stream.read()


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
@pytest.mark.parametrize("streamed", [False, True])
def test_every_way_to_write_a_zip_gives_the_same_tar(tmp_path: Path, store: Store, method: int, streamed: bool) -> None:
    plain = write_layer(entries_of(wheel(tmp_path, CONTENTS)), store)
    other = write_layer(entries_of(wheel(tmp_path, CONTENTS, method=method, streamed=streamed)), store)
    assert other.diff_id == plain.diff_id
    found = unpacked(store, other)
    for path, data in CONTENTS.items():
        assert found[f"{PREFIX.site}/{path}"] == data


def test_a_layer_holds_the_deflate_streams_of_its_wheel(tmp_path: Path, store: Store) -> None:
    path = wheel(tmp_path, CONTENTS)
    blob = store.read(write_layer(entries_of(path), store).digest)
    spliced = open_wheel(path, path.name).contents["toy/zeros.bin"].spliced
    assert spliced is not None
    assert path.read_bytes()[spliced.offset : spliced.offset + spliced.size] in blob


def test_what_is_known_is_not_unpacked_again_and_compared(tmp_path: Path, store: Store) -> None:
    entries = entries_of(wheel(tmp_path, CONTENTS))
    made = write_layer(entries, store)
    seen: list[bytes] = []
    assert write_layer(entries, store, expected=made, watcher=lambda _entry: seen.append) == made
    assert not seen
    with pytest.raises(VerificationFailed, match=r"the lock has sha256:00"):
        write_layer(entries, store, expected=replace(made, digest="sha256:" + "00" * 32))


@pytest.mark.parametrize("layer_format", [LayerFormat.GZIP_SPLICED, LayerFormat.TAR, LayerFormat.ZSTD])
@pytest.mark.parametrize("packing", list(Packing))
def test_every_packing_has_the_same_tar_inside(
    tmp_path: Path, store: Store, layer_format: LayerFormat, packing: Packing
) -> None:
    entries = entries_of(wheel(tmp_path, CONTENTS))
    assert write_layer(entries, store, layer_format, packing=packing).diff_id == write_layer(entries, store).diff_id


def test_the_digest_of_a_layer_is_pinned(tmp_path: Path, store: Store) -> None:
    entries = completed([text("opt/a", b"hello"), text("opt/b", b"long " * 999), link("opt/c", "a")])
    spliced = write_layer(entries, store)
    assert (spliced.digest, spliced.diff_id) == (
        "sha256:20b819677c2d17a7114a96ce8a3984d9ac1eb096a61592b360ec3cdc4666341f",
        "sha256:1ff2b680ae68f0762f0ecdda6d5eaaa1538adaba02ccabb9f5a8bace1eccb98b",
    )
    assert (
        write_layer(entries, store, packing=Packing.COMPRESSED).digest
        == "sha256:c25230578c8ac27efcf827f805aa3223ff0352e6eb958b10adf02e051976e275"
    )
    assert (
        write_layer(entries, store, packing=Packing.MIXED).digest
        == "sha256:38e9a4fb454a24598570eaf27e4eb33a6f49728212a253ae4c47f7b671abe1db"
    )


@given(st.dictionaries(st.text("abc/", min_size=1, max_size=8).map(lambda path: f"x{path.strip('/')}"), st.binary()))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_order_in_which_entries_are_given_does_not_matter(store: Store, tree: dict[str, bytes]) -> None:
    files = {path: data for path, data in tree.items() if "//" not in path}
    files = {path: data for path, data in files.items() if not any(other.startswith(f"{path}/") for other in files)}
    entries = [text(path, data) for path, data in files.items()]
    assert write_layer(completed(entries), store) == write_layer(completed(reversed(entries)), store)


def test_a_damaged_stream_is_found(tmp_path: Path, store: Store) -> None:
    path = wheel(tmp_path, CONTENTS)
    damage_stream(path, "toy/noise.bin")
    with pytest.raises(VerificationFailed, match="is damaged"):
        write_layer(entries_of(path), store)
    assert not list(store.folder.glob("parts/*"))


def test_a_check_sum_that_lies_is_found(tmp_path: Path, store: Store) -> None:
    path = wheel(tmp_path, {"toy/a.py": b"x = 1\n" * 99})
    patched(path, 16, b"\0\0\0\0")
    with pytest.raises(VerificationFailed, match="CRC"):
        write_layer(entries_of(path), store)


def test_hard_links_are_written_as_such(store: Store) -> None:
    one = Entry(member=replace(file_of("a", b"same" * 400, mtime=1), identity="i"))
    two = Entry(member=replace(one.member, path="b"))
    tar = gzip.decompress(store.read(write_layer([one, two], store).digest))
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        assert archive.getmember("b").linkname == "a"


def test_a_tar_keeps_its_bytes(tmp_path: Path, store: Store) -> None:
    tar = write([file_of("etc/x", b"1" * 5000, mtime=1)], tmp_path / "x.tar")
    packed = write_tar(tar.path, store, LayerFormat.GZIP_SPLICED)
    assert packed.diff_id == f"sha256:{tar.sha256}"
    assert gzip.decompress(store.read(packed.digest)) == tar.path.read_bytes()
    assert write_tar(tar.path, store, LayerFormat.TAR).digest == packed.diff_id


def test_a_file_that_became_shorter_is_found(tmp_path: Path, store: Store) -> None:
    member = Member(path="a", kind=Kind.FILE, mode=0o644, mtime=0, size=10, open=lambda: io.BytesIO(b"short"))
    with pytest.raises(VerificationFailed, match="shorter"):
        write_layer([Entry(member=member)], store)


def test_zlib_is_the_one_whose_bytes_are_pinned() -> None:
    compressor = GzipCompressor(host_deflate())
    assert zlib.decompress(compressor.compress(b"x" * 99) + compressor.flush(), wbits=31) == b"x" * 99


def test_a_layer_is_read_back_by_the_tar_reader(tmp_path: Path, store: Store) -> None:
    entries = entries_of(wheel(tmp_path, CONTENTS))
    packed = write_layer(entries, store, LayerFormat.TAR)
    assert [member.path for member in of_tar(store.path(packed.digest))] == [entry.path for entry in entries]

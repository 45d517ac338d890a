"""An eStargz layer is an ordinary layer for everybody, and one that is read chunk by chunk for those who know it."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import VerificationFailed
from envbuilder.image.layers.entries import Entry, completed, folder, link, text
from envbuilder.image.layers.estargz import LARGEST_CHUNK, Prefetch
from envbuilder.image.layers.layer_writer import Packed, Packing, write_layer, write_tar
from envbuilder.image.layers.wheel_file import open_wheel
from envbuilder.image.layers.wheels import Prefix, installed
from envbuilder.oci.images import LayerFormat
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import Kind, Member, file_of
from envbuilder.oci.tar.writing import write
from tests.unit.image.layers.estargz_reader import LazyLayer
from tests.unit.image.layers.wheels import damage_stream, wheel

PREFIX = Prefix(venv="opt/venv", series="3.8")
LARGE = b"".join(bytes([number % 7]) * 1000 + hashlib.sha256(b"%d" % number).digest() for number in range(9000))
WHEEL = {
    "toy/__init__.py": b"",
    "toy/tiny.py": b"x = 1\n",
    "toy/text.py": b"line\n" * 500,
    "toy/libtoy.so": LARGE,
}
SITE = PREFIX.site


def entries_of(path: Path) -> list[Entry]:
    return completed(installed(open_wheel(path, path.name), PREFIX))


def estargz(entries: list[Entry], store: Store, packing: Packing = Packing.SPLICED) -> Packed:
    return write_layer(entries, store, LayerFormat.ESTARGZ, packing=packing)


def lazy(store: Store, packed: Packed) -> LazyLayer:
    return LazyLayer(store.read(packed.digest), packed.contents)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_every_file_is_read_and_verified_alone(tmp_path: Path, store: Store, method: int) -> None:
    layer = lazy(store, estargz(entries_of(wheel(tmp_path, WHEEL, method=method)), store))
    assert {path: layer.read(f"{SITE}/{path}") for path in WHEEL} == WHEEL


def test_large_files_are_in_chunks_that_are_unpacked_alone(tmp_path: Path, store: Store) -> None:
    layer = lazy(store, estargz(entries_of(wheel(tmp_path, WHEEL)), store))
    sizes = [size for _, size, _ in layer.chunks(f"{SITE}/toy/libtoy.so")]
    assert (len(sizes), sum(sizes)) == (3, len(LARGE))
    # They end between the blocks of the stream.
    assert all(LARGEST_CHUNK * 0.9 < size <= LARGEST_CHUNK for size in sizes[:-1])


def test_large_files_that_are_in_no_wheel_are_in_chunks_of_one_size(store: Store) -> None:
    layer = lazy(store, estargz([Entry(member=file_of("large", LARGE, mtime=1))], store))
    sizes = [size for _, size, _ in layer.chunks("large")]
    assert sizes == [LARGEST_CHUNK, LARGEST_CHUNK, len(LARGE) - 2 * LARGEST_CHUNK]


def test_large_files_are_hardly_compressed_again(tmp_path: Path, store: Store) -> None:
    path = wheel(tmp_path, WHEEL)
    spliced = open_wheel(path, path.name).contents["toy/libtoy.so"].spliced
    assert spliced is not None
    packed = estargz(entries_of(path), store)
    layer, blob = lazy(store, packed), store.read(packed.digest)
    [(first, _, _), (second, _, _), _] = layer.chunks(f"{SITE}/toy/libtoy.so")
    stream = path.read_bytes()[spliced.offset : spliced.offset + spliced.size]
    # The first chunk is the beginning of the stream, up to the end of a block.
    assert stream.startswith(blob[first + 10 : second - 20])


def test_a_prefetched_layer_ends_with_its_landmark(store: Store) -> None:
    entries = completed([text("opt/a", b"hello"), text("opt/b", b"x" * 999)])
    packed = write_layer(entries, store, LayerFormat.ESTARGZ, prefetch=Prefetch(whole=True))
    layer = lazy(store, packed)
    assert [each["name"] for each in layer.entries] == ["opt/", "opt/a", "opt/b", ".prefetch.landmark"]
    [(landmark, size, _)] = layer.chunks(".prefetch.landmark")
    assert (layer.read(".prefetch.landmark"), size) == (b"\x0f", 1)
    assert all(layer.entry(name)["offset"] < landmark for name in ("opt/a", "opt/b"))


def test_named_files_are_before_the_landmark_with_their_directories(tmp_path: Path, store: Store) -> None:
    named = frozenset(f"/{SITE}/toy/{name}" for name in ("text.py", "libtoy.so", "missing.py"))
    entries = entries_of(wheel(tmp_path, WHEEL))
    packed = write_layer(entries, store, LayerFormat.ESTARGZ, prefetch=Prefetch(files=named))
    layer = lazy(store, packed)
    [(landmark, _, _)] = layer.chunks(".prefetch.landmark")
    before = [each["name"] for each in layer.entries if each.get("offset", landmark) < landmark]
    # A large library is read in chunks: to fetch all of it would fetch what nobody reads.
    assert before == [f"{SITE}/toy/text.py"]
    names = [each["name"] for each in layer.entries]
    folders = ["opt/", "opt/venv/", "opt/venv/lib/", "opt/venv/lib/python3.8/", f"{SITE}/", f"{SITE}/toy/"]
    assert names[: names.index(".prefetch.landmark")] == [*folders, *before]
    assert {path: layer.read(f"{SITE}/{path}") for path in WHEEL} == WHEEL


def test_the_list_decides_about_a_layer_that_is_prefetched_without_one(store: Store) -> None:
    entries = completed([text("opt/a", b"hello"), text("opt/b", b"x" * 999)])
    both = Prefetch(whole=True, files=frozenset({"/opt/b"}))
    layer = lazy(store, write_layer(entries, store, LayerFormat.ESTARGZ, prefetch=both))
    assert [each["name"] for each in layer.entries] == ["opt/", "opt/b", ".prefetch.landmark", "opt/a"]


def test_a_list_without_a_file_of_the_layer_changes_nothing(tmp_path: Path, store: Store) -> None:
    entries = entries_of(wheel(tmp_path, WHEEL))
    other = Prefetch(files=frozenset({"/opt/other"}))
    assert write_layer(entries, store, LayerFormat.ESTARGZ, prefetch=other) == estargz(entries, store)


def test_a_hard_link_that_is_named_holds_the_content(store: Store) -> None:
    first = replace(file_of("etc/one", b"same", mtime=1), identity="i")
    entries = [folder("etc"), Entry(member=first), Entry(member=replace(first, path="etc/two"))]
    prefetch = Prefetch(files=frozenset({"/etc/two"}))
    layer = lazy(store, write_layer(entries, store, LayerFormat.ESTARGZ, prefetch=prefetch))
    assert [(each["name"], each["type"]) for each in layer.entries] == [
        *(("etc/", "dir"), ("etc/two", "reg"), (".prefetch.landmark", "reg"), ("etc/one", "hardlink"))
    ]
    assert layer.read("etc/two") == b"same"


def test_other_files_are_the_deflate_streams_of_their_wheel(tmp_path: Path, store: Store) -> None:
    path = wheel(tmp_path, WHEEL)
    packed = estargz(entries_of(path), store)
    layer, blob = lazy(store, packed), store.read(packed.digest)
    for name in ("toy/tiny.py", "toy/text.py"):
        spliced = open_wheel(path, path.name).contents[name].spliced
        assert spliced is not None
        [(offset, _, _)] = layer.chunks(f"{SITE}/{name}")
        stream = path.read_bytes()[spliced.offset : spliced.offset + spliced.size]
        assert blob[offset + 10 : offset + 10 + spliced.size] == stream


def test_everybody_else_sees_the_same_layer_and_two_more_files(tmp_path: Path, store: Store) -> None:
    entries = entries_of(wheel(tmp_path, WHEEL))
    packed, plain = estargz(entries, store), write_layer(entries, store)
    tar = gzip.decompress(store.read(packed.digest))
    assert packed.diff_id == f"sha256:{hashlib.sha256(tar).hexdigest()}"
    with (
        tarfile.open(fileobj=io.BytesIO(tar)) as ours,
        tarfile.open(fileobj=io.BytesIO(gzip.decompress(store.read(plain.digest)))) as theirs,
    ):
        assert ours.getnames() == [".no.prefetch.landmark", *theirs.getnames(), "stargz.index.json"]
        assert _properties(ours)[1:-1] == _properties(theirs)


def _properties(archive: tarfile.TarFile) -> list[dict[str, object]]:
    hidden = {"chksum", "offset"}
    return [{key: value for key, value in each.get_info().items() if key not in hidden} for each in archive]


def test_the_table_of_contents_describes_every_kind_of_entry(store: Store) -> None:
    first = replace(file_of("etc/one", b"same", mtime=1, mode=0o600), identity="i", uid=5, gid=6)
    device = Member(path="etc/zero", kind=Kind.CHARACTER, mode=0o666, mtime=0, device=(1, 5))
    capable = replace(file_of("etc/ping", b"x", mtime=0), xattrs=(("SCHILY.xattr.security.capability", b"\1\0"),))
    entries = [
        folder("etc"),
        Entry(member=first),
        Entry(member=replace(first, path="etc/two")),
        link("etc/link", "one"),
    ]
    entries += [Entry(member=device), Entry(member=capable), text("etc/void", b"")]
    layer = lazy(store, estargz(entries, store))
    assert [each["name"] for each in layer.entries[1:]] == [
        *("etc/", "etc/one", "etc/two", "etc/link", "etc/zero", "etc/ping", "etc/void")
    ]
    assert layer.entry("etc/") == {
        "name": "etc/",
        "type": "dir",
        "mode": 0o755,
        "uid": 0,
        "gid": 0,
        "modtime": "2023-11-14T22:13:20Z",
    }
    one = layer.entry("etc/one")
    assert (one["mode"], one["uid"], one["gid"], one["modtime"]) == (0o600, 5, 6, "1970-01-01T00:00:01Z")
    assert (layer.entry("etc/two")["type"], layer.entry("etc/two")["linkName"]) == ("hardlink", "etc/one")
    assert (layer.entry("etc/link")["type"], layer.entry("etc/link")["linkName"]) == ("symlink", "one")
    zero = layer.entry("etc/zero")
    assert (zero["type"], zero["devMajor"], zero["devMinor"]) == ("char", 1, 5)
    assert layer.entry("etc/ping")["xattrs"] == {"security.capability": "AQA="}
    assert layer.read("etc/void") == b""


def test_the_packing_of_other_layers_does_not_matter(tmp_path: Path, store: Store) -> None:
    entries = entries_of(wheel(tmp_path, WHEEL))
    assert len({estargz(entries, store, packing) for packing in Packing}) == 1


def test_the_digest_of_a_layer_is_pinned(store: Store) -> None:
    packed = estargz(completed([text("opt/a", b"hello"), text("opt/b", b"long " * 999_999), link("opt/c", "a")]), store)
    assert packed == Packed(
        digest="sha256:f09f71f25ad524c458bb45de6e74cd8590030e3f1da80ae2629f3d0ec6f3e0a1",
        size=8613,
        diff_id="sha256:a306b0e23f2f18e5a59e119f806fd0933d5f7ba173163dfacfef01fd7da6ff9d",
        contents="sha256:c1ce04cbcc777e03243564692d0312c4db52319d8f8e1f6c0f476c4b653acc3d",
    )


def test_the_size_of_reads_does_not_move_the_chunks(store: Store) -> None:
    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(min(size or 0, 70_001))

    whole = Entry(member=file_of("large", LARGE, mtime=1))
    slow = Entry(member=replace(whole.member, open=lambda: Slow(LARGE)))
    assert estargz([slow], store) == estargz([whole], store)


def test_what_looks_for_libraries_sees_all_of_a_large_file(tmp_path: Path, store: Store) -> None:
    seen = bytearray()
    path = f"{SITE}/toy/libtoy.so"
    write_layer(
        entries_of(wheel(tmp_path, WHEEL)),
        store,
        LayerFormat.ESTARGZ,
        watcher=lambda entry: seen.extend if entry.path == path else None,
    )
    assert bytes(seen) == LARGE


def test_a_damaged_stream_is_found(tmp_path: Path, store: Store) -> None:
    path = wheel(tmp_path, WHEEL)
    damage_stream(path, "toy/libtoy.so")
    with pytest.raises(VerificationFailed, match="is damaged"):
        estargz(entries_of(path), store)


@pytest.mark.parametrize("path", ["stargz.index.json", ".prefetch.landmark", ".no.prefetch.landmark", "opt/\udcff"])
def test_a_path_that_the_format_cannot_hold_is_refused(store: Store, path: str) -> None:
    with pytest.raises(VerificationFailed, match="cannot be in an eStargz layer") as caught:
        estargz([text(path, b"x")], store)
    assert "--layer-format gzip-spliced" in caught.value.hint


def test_a_layer_with_another_table_of_contents_than_expected_is_refused(store: Store) -> None:
    entries = [text("a", b"x")]
    made = estargz(entries, store)
    assert write_layer(entries, store, LayerFormat.ESTARGZ, expected=made) == made
    with pytest.raises(VerificationFailed, match="the layer has the digest"):
        write_layer(entries, store, LayerFormat.ESTARGZ, expected=replace(made, contents="sha256:" + "00" * 32))


def test_the_tar_of_a_base_becomes_the_same_layer_as_its_members(tmp_path: Path, store: Store) -> None:
    members = [folder("etc").member, file_of("etc/x", b"1" * 5000, mtime=1)]
    packed = write_tar(write(members, tmp_path / "x.tar").path, store, LayerFormat.ESTARGZ)
    assert packed == estargz([Entry(member=member) for member in members], store)
    assert lazy(store, packed).read("etc/x") == b"1" * 5000
    first = Prefetch(files=frozenset({"/etc/x"}))
    packed = write_tar(tmp_path / "x.tar", store, LayerFormat.ESTARGZ, prefetch=first)
    assert [each["name"] for each in lazy(store, packed).entries] == ["etc/", "etc/x", ".prefetch.landmark"]

"""Layers as a root file system, and as one tar: the same rules, so most cases are checked on both."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.archives.member_names import relative_path
from envbuilder.core.archives.tar_reader import TarReader
from envbuilder.core.errors import ToolMissing, UsageError, VerificationFailed
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.layout.merge import merged
from envbuilder.oci.layout.rootfs import unpack
from envbuilder.oci.layout.squashfs import flat_tar
from envbuilder.oci.runtime.outputs import discard
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import file_of, member_of
from tests.unit.oci.layout.images import (
    Members,
    file,
    folder,
    hardlink,
    image,
    image_of_pins,
    image_of_tars,
    pin_of,
    seen,
    special,
    symlink,
    tar_of,
)

Unpacker = Callable[[AssembledImage, Store, Path], None]


def by_tar(image: AssembledImage, store: Store, place: Path) -> None:
    """Through the flat tar, with the standard library as the reader."""
    with tarfile.open(fileobj=io.BytesIO(flat(image, store))) as tar:
        # Python 3.11.3 and earlier have no filters, and do what this one does; 3.14 would take another by itself.
        tar.extraction_filter = getattr(tarfile, "fully_trusted_filter", None)
        tar.extractall(place)  # noqa: S202  made by the test


def flat(image: AssembledImage, store: Store) -> bytes:
    return b"".join(flat_tar(merged(image, store)))


both = pytest.mark.parametrize("way", [unpack, by_tar], ids=["folder", "tar"])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "tree"


BASE: Members = (
    folder("a"),
    file("a/one", b"1"),
    file("a/two", b"2"),
    folder("a/deep"),
    file("a/deep/three", b"3"),
    symlink("link", "a/one"),
    file("kept", b"k"),
)


@both
def test_upper_layers_win(way: Unpacker, store: Store, place: Path) -> None:
    way(image(store, BASE, [file("a/one", b"new"), file("b/c", b"added")]), store, place)
    assert seen(place) == {
        "a": "/",
        "a/deep": "/",
        "a/deep/three": "3",
        "a/one": "new",
        "a/two": "2",
        "b": "/",
        "b/c": "added",
        "kept": "k",
        "link": "-> a/one",
    }


@both
def test_a_whiteout_takes_away_a_file_a_link_and_a_whole_folder(way: Unpacker, store: Store, place: Path) -> None:
    way(image(store, BASE, [file("a/.wh.one"), file("a/.wh.deep"), file(".wh.link")]), store, place)
    assert seen(place) == {"a": "/", "a/two": "2", "kept": "k"}


@both
def test_an_opaque_folder_hides_only_what_lies_below(way: Unpacker, store: Store, place: Path) -> None:
    """In either order: the whiteout may stand behind what the layer puts there itself."""
    way(image(store, BASE, [folder("a"), file("a/own", b"o"), file("a/.wh..wh..opq")]), store, place)
    assert seen(place) == {"a": "/", "a/own": "o", "kept": "k", "link": "-> a/one"}


@both
def test_a_file_that_is_taken_away_and_put_there_again_is_there(way: Unpacker, store: Store, place: Path) -> None:
    way(image(store, BASE, [file(".wh.kept"), file("kept", b"again")], [file(".wh.a")]), store, place)
    assert seen(place) == {"kept": "again", "link": "-> a/one"}


@both
def test_whiteouts_of_what_is_not_there_and_of_other_tools_are_passed_over(
    way: Unpacker, store: Store, place: Path
) -> None:
    way(image(store, [file("x", b"x"), file("no/.wh.where"), file(".wh..wh.plnk"), file("x/.wh.y")]), store, place)
    assert seen(place) == {"x": "x"}


@both
def test_a_folder_takes_the_place_of_a_link_and_a_link_that_of_a_folder(
    way: Unpacker, store: Store, place: Path
) -> None:
    way(image(store, BASE, [folder("link"), file("link/in", b"i"), symlink("a", "kept")]), store, place)
    assert seen(place) == {"a": "-> kept", "kept": "k", "link": "/", "link/in": "i"}


@both
def test_hard_links_stay_one_file_even_when_the_first_name_is_gone(way: Unpacker, store: Store, place: Path) -> None:
    lower: Members = (file("first", b"shared"), hardlink("second", "first"), hardlink("third", "./first"))
    way(image(store, lower, [file("first", b"other"), hardlink("fourth", "third")]), store, place)
    assert seen(place) == {"first": "other", "second": "shared", "third": "shared", "fourth": "shared"}
    assert (place / "second").samefile(place / "third")
    assert (place / "second").samefile(place / "fourth")


@both
@pytest.mark.parametrize("tar_format", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_long_paths_odd_names_and_links_come_through(way: Unpacker, tar_format: int, store: Store, place: Path) -> None:
    long = "/".join(["d" * 60] * 6)
    members: Members = (
        file(f"{long}/{'f' * 200}", b"long"),
        symlink("l", long),
        file("ünï", b"u"),
        file("./dotted", b"d"),
        folder("slashed/"),
    )
    way(image_of_tars(store, [tar_of(members, tar_format)]), store, place)
    assert (place / long / ("f" * 200)).read_bytes() == b"long"
    assert (place / "l").readlink() == Path(long)
    assert (place / "ünï").read_bytes() == b"u"
    assert (place / "dotted").read_bytes() == b"d"
    assert (place / "slashed").is_dir()


@both
def test_modes_and_times_are_those_of_the_image(way: Unpacker, store: Store, place: Path) -> None:
    members = [folder("d", mode=0o1777, mtime=5), file("d/x", b"x", mode=0o751, mtime=1234567890)]
    way(image(store, members), store, place)
    assert stat.S_IMODE((place / "d").stat().st_mode) == 0o1777
    assert (place / "d").stat().st_mtime == 5
    assert stat.S_IMODE((place / "d/x").stat().st_mode) == 0o751
    assert (place / "d/x").stat().st_mtime == 1234567890


def test_set_user_id_bits_need_root(store: Store, place: Path) -> None:
    unpack(image(store, [file("su", b"x", mode=0o4755), file("secret", b"x", mode=0)]), store, place)
    as_root = os.geteuid() == 0
    assert stat.S_IMODE((place / "su").stat().st_mode) == (0o4755 if as_root else 0o755)
    assert stat.S_IMODE((place / "secret").stat().st_mode) == (0 if as_root else 0o400)


def test_devices_and_pipes_are_left_out_of_folders(store: Store, place: Path) -> None:
    members = [special("null", tarfile.CHRTYPE, devmajor=1, devminor=3), special("pipe", tarfile.FIFOTYPE)]
    unpack(image(store, [*members, file("kept", b"k")]), store, place)
    assert [path.name for path in place.iterdir()] == ["kept"]


def test_a_tar_keeps_devices_and_attributes(store: Store) -> None:
    info, content = file("cap", b"c")
    info.pax_headers = {"SCHILY.xattr.user.word": "said"}
    made = image(store, [(info, content), special("null", tarfile.CHRTYPE, devmajor=1, devminor=3)])
    with tarfile.open(fileobj=io.BytesIO(flat(made, store))) as tar:
        null = tar.getmember("null")
        assert (null.devmajor, null.devminor) == (1, 3)
        assert tar.getmember("cap").pax_headers["SCHILY.xattr.user.word"] == "said"


def test_a_tar_has_folders_before_what_they_hold_and_no_path_twice(store: Store) -> None:
    made = image(store, BASE, [file("a/one", b"new"), folder("a", mode=0o700), file("z/y/x", b"")])
    with tarfile.open(fileobj=io.BytesIO(flat(made, store))) as tar:
        members = tar.getmembers()
    names = [member.name for member in members]
    assert len(names) == len(set(names))
    for member in members:
        parent = member.name.rpartition("/")[0]
        assert not parent or names.index(parent) < names.index(member.name)
    assert next(member.mode for member in members if member.name == "a") == 0o700


def test_what_is_put_on_top_wins(store: Store) -> None:
    tree = merged(image(store, BASE), store, on_top=[file_of("kept", b"top", mtime=0)])
    with tarfile.open(fileobj=io.BytesIO(b"".join(flat_tar(tree)))) as tar:
        content = tar.extractfile("kept")
        assert content is not None
        assert content.read() == b"top"


HOSTILE: dict[str, tuple[Members, ...]] = {
    "absolute": ([file("/etc/passwd", b"x")],),
    "upwards": ([file("../out", b"x")],),
    "upwards-inside": ([file("a/../../out", b"x")],),
    "through-a-link": ([symlink("x", "/etc"), file("x/passwd", b"x")],),
    "through-a-link-below": ([symlink("x", "..")], [file("x/out", b"x")]),
    "through-a-link-to-a-link": ([symlink("x", "y"), symlink("y", "/tmp"), folder("x/deep")],),
    "through-a-file": ([file("x", b"x")], [file("x/y", b"y")]),
    "link-out": ([hardlink("x", "../../etc/shadow")],),
    "absolute-link": ([hardlink("x", "/etc/shadow")],),
    "link-through-a-link": ([symlink("x", "/etc"), hardlink("y", "x/shadow")],),
    "link-to-a-folder": ([folder("x"), hardlink("y", "x")],),
    "link-to-nothing": ([hardlink("x", "y"), file("y", b"y")],),
    "whiteout-upwards": ([file("a/.wh...", b"")],),
    "whiteout-of-itself": ([file("a/.wh..", b"")],),
    "whiteout-of-nothing": ([file("a/.wh.", b"")],),
    "root-that-is-a-link": ([symlink(".", "/etc")],),
    "unknown-kind": ([special("x", b"S")],),
    "deeper-than-anything": ([file("a/" * 1500 + "f", b"")],),
    "longer-than-anything": ([file("a" * 300, b"")],),
    "nameless-file": ([file("./", b"")],),
    "negative-owner": ([special("x", tarfile.REGTYPE, uid=-2)],),
    "owner-that-is-none": ([special("x", tarfile.REGTYPE, uid=(1 << 32) - 1)],),
    "group-without-end": ([special("x", tarfile.REGTYPE, gid=1 << 50)],),
    "time-without-end": ([special("x", tarfile.REGTYPE, mtime=1 << 80)],),
    "time-before-all": ([special("x", tarfile.REGTYPE, mtime=-(1 << 60))],),
}


@both
@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_layer_is_refused_and_nothing_is_left(
    way: Unpacker, name: str, store: Store, place: Path, tmp_path: Path
) -> None:
    with pytest.raises(VerificationFailed):
        way(image(store, *HOSTILE[name]), store, place)
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_links_may_point_anywhere_when_nothing_goes_through_them(store: Store, place: Path) -> None:
    unpack(image(store, [symlink("abs", "/etc/passwd"), symlink("up", "../../../../x")]), store, place)
    assert (place / "abs").readlink() == Path("/etc/passwd")


def test_deep_folders_are_no_trouble(store: Store, place: Path) -> None:
    unpack(image(store, [file("a/" * 250 + "f", b"deep")]), store, place)
    assert (place / ("a/" * 250) / "f").read_bytes() == b"deep"
    discard(place)
    assert not place.exists()


@pytest.mark.parametrize("cut", [100, 600, 1100, 15500])
def test_a_layer_that_is_cut_off_is_refused(cut: int, store: Store, place: Path) -> None:
    plain = tar_of([file("x", b"x" * 15000)])
    with pytest.raises(VerificationFailed):
        unpack(image_of_tars(store, [plain[:cut]]), store, place)


def test_packed_bytes_that_are_cut_off_are_refused(store: Store, place: Path) -> None:
    pin = pin_of(store, 0, tar_of(BASE))
    broken = store.read(pin.blob.digest)[:-3]
    blob = replace(pin.blob, digest=store.put(broken), size=len(broken))
    with pytest.raises(VerificationFailed, match="cannot be unpacked"):
        unpack(image_of_pins((replace(pin, blob=blob),)), store, place)


def test_a_layer_that_is_not_what_the_configuration_says_is_refused(store: Store, place: Path) -> None:
    pin = replace(pin_of(store, 0, tar_of(BASE)), diff_id=f"sha256:{'0' * 64}")
    with pytest.raises(VerificationFailed, match="unpacks to"):
        unpack(image_of_pins((pin,)), store, place)


def test_a_damaged_blob_is_refused(store: Store, place: Path) -> None:
    made = image(store, BASE)
    path = store.path(made.layers[0].blob.digest)
    path.chmod(0o644)
    path.write_bytes(b"something else")
    with pytest.raises(VerificationFailed, match="damaged"):
        unpack(made, Store(folder=store.folder), place)
    with pytest.raises(VerificationFailed, match="not in the cache"):
        unpack(made, Store(folder=store.folder), place)


def test_zstd_needs_its_package_or_works(store: Store, place: Path) -> None:
    pin = pin_of(store, 0, b"\x28\xb5\x2f\xfd no frame", packed=False)
    with pytest.raises((ToolMissing, VerificationFailed)):
        unpack(image_of_pins((pin,)), store, place)


def test_a_plain_tar_is_read_too(store: Store, place: Path) -> None:
    unpack(image_of_pins((pin_of(store, 0, tar_of(BASE), packed=False),)), store, place)
    assert seen(place)["a/deep/three"] == "3"


def test_a_folder_that_is_there_is_not_touched(store: Store, place: Path) -> None:
    place.mkdir()
    with pytest.raises(UsageError, match="already exists"):
        unpack(image(store, BASE), store, place)
    assert not any(place.iterdir())


@given(st.text(st.sampled_from("a./\0-"), max_size=12))
def test_no_name_leads_out(name: str) -> None:
    try:
        path = relative_path(name)
    except VerificationFailed:
        return
    assert not os.path.normpath(f"/root/{path}").startswith(("/..", "//"))
    assert os.path.normpath(f"/root/{path}").startswith("/root")


@given(st.binary(max_size=3000))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    from envbuilder.oci.layout.layer_compression import Unpacked, broken_is_damaged  # noqa: PLC0415

    try:
        with broken_is_damaged(Path("x")), Unpacked(io.BytesIO(data)) as stream:
            list(map(member_of, TarReader(stream, "x").entries()))
    except VerificationFailed:
        pass

"""The tar of a tree depends on the tree and on nothing else."""

from __future__ import annotations

import gzip
import hashlib
import os
import random
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envbuilder.core.errors import VerificationFailed
from envbuilder.oci.tar import writing as tarball
from envbuilder.oci.tar.members import Kind, Member, file_of, of_folder, of_tar

EPOCH = 1_700_000_000
NAMES = st.text(alphabet="ab-.é", min_size=1, max_size=60).filter(lambda name: name not in {".", ".."})
TREES = st.dictionaries(st.lists(NAMES, min_size=1, max_size=5).map(tuple), st.binary(max_size=1500), max_size=8)


def files_of(tree: dict[tuple[str, ...], bytes]) -> dict[tuple[str, ...], bytes]:
    """The tree without files that would have to be folders as well."""
    return {path: data for path, data in tree.items() if not any(o != path and o[: len(path)] == path for o in tree)}


def plant(root: Path, files: dict[tuple[str, ...], bytes], order: list[tuple[str, ...]]) -> None:
    for path in order:
        place = root.joinpath(*path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(files[path])


@settings(max_examples=20, deadline=None)
@given(tree=TREES, seed=st.integers(0, 1000))
def test_order_of_creation_umask_and_place_do_not_matter(tree: dict[tuple[str, ...], bytes], seed: int) -> None:
    files = files_of(tree)
    shuffled = list(files)
    random.Random(seed).shuffle(shuffled)  # noqa: S311
    digests = set()
    with tempfile.TemporaryDirectory() as scratch:
        for name, order, umask in (("one", list(files), 0o022), ("two", shuffled, 0o077)):
            before = os.umask(umask)
            try:
                plant(Path(scratch) / name, files, order)
                (Path(scratch) / name).mkdir(exist_ok=True)
            finally:
                os.umask(before)
            out = Path(scratch) / f"{name}.tar"
            written = tarball.write(of_folder(Path(scratch) / name, epoch=EPOCH), out)
            digests.add(written.sha256)
            assert written.sha256 == hashlib.sha256(out.read_bytes()).hexdigest()
            assert written.size == out.stat().st_size
            with tarfile.open(out) as archive:
                held = {info.name: archive.extractfile(info).read() for info in archive if info.isreg()}  # type: ignore[union-attr]
            assert held == {"/".join(path): data for path, data in files.items()}
    assert len(digests) == 1


LENGTHS = (1, 99, 100, 101, 155, 156, 250, 256, 257, 300, 1000)
PIECES = (7, 98, 120)


def test_long_paths_and_targets_survive(tmp_path: Path) -> None:
    texts = [("x" * length, piece) for length in LENGTHS for piece in PIECES]
    paths = {"/".join(text[at : at + piece] for at in range(0, len(text), piece)) for text, piece in texts}
    members = [
        member
        for path in paths
        for member in (
            file_of(path, b"content", mtime=EPOCH),
            Member(path=f"{path}-link", kind=Kind.SYMLINK, mode=0o777, mtime=EPOCH, target=path),
            Member(path=f"{path}-folder", kind=Kind.FOLDER, mode=0o755, mtime=EPOCH),
        )
    ]
    out = tarball.write(members, tmp_path / "a.tar").path
    with tarfile.open(out) as archive:
        assert archive.getnames() == sorted(member.path for member in members)
        targets = {info.name: info.linkname for info in archive if info.issym()}
        assert targets == {f"{path}-link": path for path in paths}
        assert {info.name for info in archive if info.isdir()} == {f"{path}-folder" for path in paths}
    listed = subprocess.run(["tar", "tf", str(out)], capture_output=True, text=True, check=True).stdout.splitlines()
    assert [name.rstrip("/") for name in listed] == sorted(member.path for member in members)
    assert {name for name in listed if name.endswith("/")} == {f"{path}-folder/" for path in paths}


def test_a_short_tree_is_plain_ustar_from_its_first_byte(tmp_path: Path) -> None:
    # BuildKit takes a tar whose first header is an extension for a Dockerfile.
    out = tarball.write([file_of("Dockerfile", b"FROM scratch\n", mtime=EPOCH)], tmp_path / "a.tar").path
    data = out.read_bytes()
    assert data[257:265] == b"ustar\x0000"
    assert data[156:157] == b"0"
    assert len(data) == 4 * 512


def test_hard_links_stay_links_to_the_first_path(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "b").write_bytes(b"same")
    (tree / "a").hardlink_to(tree / "b")
    out = tarball.write(of_folder(tree, epoch=EPOCH), tmp_path / "a.tar").path
    with tarfile.open(out) as archive:
        assert [(info.name, info.islnk(), info.linkname) for info in archive] == [("a", False, ""), ("b", True, "a")]
    again = tarball.write(of_tar(out), tmp_path / "b.tar").path
    assert again.read_bytes() == out.read_bytes()


def test_owner_mode_device_and_attributes_are_kept_on_request(tmp_path: Path) -> None:
    capability = b"\x01\x00\x00\x02\xff=\n"
    members = [
        Member(path=".", kind=Kind.FOLDER, mode=0o1777, mtime=EPOCH, uid=7, gid=8),
        Member(path="null", kind=Kind.CHARACTER, mode=0o666, mtime=EPOCH, device=(1, 3)),
        Member(
            path="ping",
            kind=Kind.FILE,
            mode=0o4755,
            mtime=EPOCH,
            uid=3_000_000,
            xattrs=(("SCHILY.xattr.security.capability", capability),),
        ).holding(b"x"),
    ]
    out = tarball.write(members, tmp_path / "a.tar").path
    root, null, ping = of_tar(out)
    assert (root.path, root.mode, root.uid, root.gid) == (".", 0o1777, 7, 8)
    assert (null.kind, null.device) == (Kind.CHARACTER, (1, 3))
    assert (ping.mode, ping.uid, ping.xattrs) == (0o4755, 3_000_000, members[2].xattrs)
    assert ping.read() == b"x"


def test_owner_and_mode_as_found(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "secret").touch(mode=0o600)
    (found,) = of_folder(tmp_path / "tree", epoch=EPOCH, as_found=True)
    (plain,) = of_folder(tmp_path / "tree", epoch=EPOCH)
    assert (found.mode, found.uid) == (0o600, os.getuid())
    assert (plain.mode, plain.uid) == (0o644, 0)


def test_gzip_carries_neither_name_nor_time(tmp_path: Path) -> None:
    members = [file_of("a", bytes(100_000), mtime=EPOCH)]
    packed = tarball.write(members, tmp_path / "a.tar.gz", gzipped=True)
    plain = tarball.write(members, tmp_path / "a.tar")
    assert gzip.decompress(packed.path.read_bytes()) == plain.path.read_bytes()
    assert packed.path.read_bytes()[:10] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"
    assert packed.sha256 == hashlib.sha256(packed.path.read_bytes()).hexdigest()


def test_a_file_that_shrinks_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "log").write_bytes(b"long enough")
    members = list(of_folder(tmp_path / "tree", epoch=EPOCH))
    (tmp_path / "tree" / "log").write_bytes(b"short")
    with pytest.raises(VerificationFailed, match="log became shorter"):
        tarball.write(members, tmp_path / "a.tar")
    assert [path.name for path in tmp_path.iterdir()] == ["tree"]


def test_a_path_that_comes_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is contained twice"):
        tarball.write([file_of("a", b"", mtime=0), file_of("a", b"", mtime=0)], tmp_path / "a.tar")


def test_a_socket_cannot_be_a_member(tmp_path: Path) -> None:
    os.mknod(tmp_path / "door", 0o140600)
    with pytest.raises(ValueError, match="not a file, a directory"):
        list(of_folder(tmp_path, epoch=EPOCH))

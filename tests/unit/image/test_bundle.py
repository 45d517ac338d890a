"""A bundle carries a lock and its files to another machine, bit by bit."""

from __future__ import annotations

import io
import os
import resource
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pytest

from envbuilder.cli.system_errors import of_the_system
from envbuilder.core.errors import DiskFull, SourceUnreachable, UsageError, VerificationFailed
from envbuilder.image.bundle import LOCK_NAME, bundle, files_of, open_bundle
from envbuilder.lock.lock import OsPackagePin, OwnFile, ToolPin
from envbuilder.lock.lockfile import dump
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import file_of
from envbuilder.oci.tar.writing import write
from tests.fakes.catalogs import good_lock

LOCK = good_lock()
FILES = (b"a wheel" * 3000, b"an archive" * 500, b"")


def written(store: Store, out: Path, *, backwards: bool = False) -> Path:
    digests = [store.put(content) for content in FILES]
    order = digests[::-1] if backwards else [*digests, digests[0]]
    return bundle(LOCK, out, store, order).path


def test_what_goes_in_comes_out_on_another_machine(store: Store, tmp_path: Path) -> None:
    out = written(store, tmp_path / "bundle.tar")
    other = Store(folder=tmp_path / "other")
    assert open_bundle(out, other) == LOCK
    assert {digest: other.read(digest) for digest, _, _ in other.entries()} == {
        digest: store.read(digest) for digest, _, _ in store.entries()
    }


def test_the_same_files_in_another_order_give_the_same_bytes(store: Store, tmp_path: Path) -> None:
    one = written(store, tmp_path / "one.tar")
    two = written(Store(folder=tmp_path / "other"), tmp_path / "two.tar", backwards=True)
    assert one.read_bytes() == two.read_bytes()


def test_opening_twice_changes_nothing(store: Store, tmp_path: Path) -> None:
    out = written(store, tmp_path / "bundle.tar")
    before = sorted(store.entries())
    assert open_bundle(out, store) == LOCK
    assert sorted(store.entries()) == before


def test_a_changed_byte_is_found(store: Store, tmp_path: Path) -> None:
    out = written(store, tmp_path / "bundle.tar")
    content = out.read_bytes()
    place = content.index(b"a wheel")
    out.write_bytes(content[:place] + b"A" + content[place + 1 :])
    other = Store(folder=tmp_path / "other")
    with pytest.raises(VerificationFailed, match=r"bundle\.tar is damaged") as caught:
        open_bundle(out, other)
    assert "copy it again" in caught.value.hint
    assert not any(size == len(FILES[0]) for _, size, _ in other.entries())


def test_a_bundle_for_which_there_is_no_room_is_told_as_such_and_leaves_nothing(store: Store, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    digest = store.put(bytes(1 << 20))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
    try:
        with pytest.raises(OSError, match="too large") as caught:
            bundle(LOCK, tmp_path / "full" / "bundle.tar", store, [digest])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    told = of_the_system(caught.value)
    assert isinstance(told, DiskFull)
    assert str(tmp_path / "full") in told.message
    assert not list((tmp_path / "full").iterdir())


def test_a_bundle_that_was_cut_off_is_refused(store: Store, tmp_path: Path) -> None:
    out = written(store, tmp_path / "bundle.tar")
    out.write_bytes(out.read_bytes()[:9000])
    with pytest.raises((UsageError, VerificationFailed)):
        open_bundle(out, Store(folder=tmp_path / "other"))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 a zip" * 99])
def test_what_is_no_tar_is_no_bundle(store: Store, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="is not a bundle") as caught:
        open_bundle(path, store)
    assert "envbuilder bundle" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("other.txt", b"text", "it contains no lock"),
        (LOCK_NAME, b"no lock", "is not a bundle"),
        (LOCK_NAME, b"\xff\xfe", "is not a bundle"),
    ],
)
def test_a_tar_without_a_readable_lock_is_no_bundle(
    store: Store, tmp_path: Path, name: str, content: bytes, problem: str
) -> None:
    path = write([file_of(name, content, mtime=1)], tmp_path / "x.tar").path
    with pytest.raises(UsageError, match=problem):
        open_bundle(path, store)


def test_a_name_that_leads_out_writes_nothing(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    source = tmp_path / "source"
    source.write_bytes(b"evil")
    with tarfile.open(path, "w") as archive:
        archive.add(source, arcname=f"sha256/../{tmp_path}/evil")
    with pytest.raises(UsageError, match="leads outside"):
        open_bundle(path, store)
    assert not (tmp_path / "evil").exists()


def test_a_lock_of_absurd_size_in_a_bundle_is_not_read(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    info = tarfile.TarInfo("envbuilder.lock")
    info.size = 1 << 30
    with path.open("wb") as stream:
        stream.write(info.tobuf())
        stream.truncate(1 << 31)
    with pytest.raises(UsageError, match="its lock has 1073741824 bytes"):
        open_bundle(path, store)


def test_what_is_refused_by_its_signature_leaves_nothing_behind(store: Store, tmp_path: Path) -> None:
    out = written(store, tmp_path / "bundle.tar")
    other = Store(folder=tmp_path / "other")

    def refuse(stream: BinaryIO) -> None:
        assert stream.read() == out.read_bytes()
        raise VerificationFailed("not signed")

    with pytest.raises(VerificationFailed, match="not signed"):
        open_bundle(out, other, refuse)
    assert not list(other.entries())


def test_what_was_checked_is_what_is_read(store: Store, tmp_path: Path) -> None:
    out = written(store, tmp_path / "bundle.tar")

    def swap(_: BinaryIO) -> None:
        out.rename(tmp_path / "checked.tar")
        out.write_bytes(b"something else")

    assert open_bundle(out, Store(folder=tmp_path / "other"), swap) == LOCK


def test_a_pipe_is_no_bundle_and_is_not_waited_for(store: Store, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="not a regular file"):
        open_bundle(tmp_path / "pipe", store)


def test_a_bundle_with_two_locks_is_refused(store: Store, tmp_path: Path) -> None:
    text = dump(LOCK).encode()
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        info = tarfile.TarInfo(LOCK_NAME)
        info.size = len(text)
        for _ in range(2):
            archive.addfile(info, io.BytesIO(text))
    with pytest.raises(UsageError, match="two locks"):
        open_bundle(tmp_path / "x.tar", store)


def test_a_damaged_store_is_not_bundled(store: Store, tmp_path: Path) -> None:
    digest = store.put(b"right")
    store.path(digest).chmod(0o644)
    store.path(digest).write_bytes(b"wrong")
    fresh = Store(folder=store.folder)
    with pytest.raises(VerificationFailed, match="was damaged"):
        bundle(LOCK, tmp_path / "out.tar", fresh, [digest])
    assert not (tmp_path / "out.tar").exists()


def test_files_of_a_lock_are_all_that_can_be_kept_each_once() -> None:
    found = files_of(LOCK)
    assert len(found) == len(set(found))
    assert f"sha256:{LOCK.python.sha256}" in found
    assert {f"sha256:{pin.sha256}" for pin in LOCK.packages} <= set(found)
    assert {f"sha256:{pin.sha256}" for pin in LOCK.os_packages} <= set(found)
    assert not {f"sha256:{tool.sha256}" for tool in LOCK.tools if tool.name == "uv"} & set(found)
    deb, probe, own, hook = "01" * 32, "02" * 32, "03" * 32, "04" * 32
    more = replace(
        LOCK,
        base=replace(LOCK.base, packages=(OsPackagePin(name="inside", version="1"), OsPackagePin(
            name="deb", version="1", sha256=deb))),
        tools=(ToolPin(name="probe", version="1", sha256=probe), ToolPin(name="memory-hook", version="1", sha256=hook)),
        files=(OwnFile(path="/app/x", sha256=own, size=1),),
    )  # fmt: skip
    assert set(files_of(more)) - set(found) == {f"sha256:{each}" for each in (deb, probe, own, hook)}
    assert "sha256:" not in files_of(more)


def test_a_file_that_is_not_here_is_named_as_the_lock_names_it(store: Store, tmp_path: Path) -> None:
    named = {pin.sha256: pin.file for pin in LOCK.packages} | {LOCK.python.sha256: LOCK.python.file}
    for sha256, name in named.items():
        with pytest.raises(SourceUnreachable) as caught:
            bundle(LOCK, tmp_path / "out.tar", store, [f"sha256:{sha256}"])
        assert name in caught.value.message
        assert caught.value.hint
    assert not (tmp_path / "out.tar").exists()

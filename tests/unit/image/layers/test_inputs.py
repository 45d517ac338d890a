"""What is read of a base are its files, and never what a link of it points to on this machine."""

from __future__ import annotations

import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.catalog.environments import PythonProvider
from envbuilder.core.errors import UsageError, VerificationFailed
from envbuilder.image.base.tree_store import DebTree
from envbuilder.image.base_contents import TreeContent
from envbuilder.image.layers.inputs import Ingredients
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import Kind, Member, file_of
from envbuilder.oci.tar.writing import write
from tests.fakes.catalogs import good_lock
from tests.fakes.vendor_archives import Shelf
from tests.unit.image.toys import no_sandbox


class NoTree:
    """The content of a registry image without files."""

    def provide(self) -> None:
        pass

    def added(self) -> tuple[Member, ...]:
        return ()

    def members(self) -> tuple[Member, ...]:
        return ()


def on_base(tmp_path: Path, *members: Member) -> Ingredients:
    tar = write(members, tmp_path / "base.tar")
    tree = DebTree(
        id="debian-bookworm",
        path=tar.path,
        digest=f"sha256:{tar.sha256}",
        size=tar.size,
        suite="bookworm",
        packages=(),
    )
    return Ingredients(
        lock=good_lock(),
        lock_text="",
        probe=bytes,
        hook=bytes,
        base=TreeContent(find_tree=lambda: tree),
        build_base=lambda: TreeContent(find_tree=lambda: tree),
        store=Store(folder=tmp_path / "store"),
        archive=lambda: tmp_path,
        archives=Shelf(store=Store(folder=tmp_path / "store")).libraries(),
        work=tmp_path,
        sandbox=no_sandbox,
        python_key="sha256:" + "0" * 64,
    )


def test_the_last_file_with_a_name_is_read_and_a_missing_one_is_empty(tmp_path: Path) -> None:
    base = on_base(tmp_path, file_of("etc/passwd", b"root", mtime=0))
    assert (base.base_file("etc/passwd"), base.base_file("etc/group")) == (b"root", b"")


def test_packing_a_registry_image_is_refused(tmp_path: Path) -> None:
    own = replace(on_base(tmp_path), base=NoTree())
    with pytest.raises(UsageError, match="not supported for registry images"):
        own.base_tar()


def test_an_interpreter_archive_is_unpacked_once(tmp_path: Path) -> None:
    """Its entries read the unpacked tar whenever a layer is made, and several are made at a time."""
    archive = tmp_path / "cpython.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        entry = tarfile.TarInfo("python/lib/os.py")
        entry.size = 4
        tar.addfile(entry, io.BytesIO(b"text"))
    base = on_base(tmp_path)
    own = replace(
        base,
        lock=replace(base.lock, python=replace(base.lock.python, provider=PythonProvider.ARCHIVE)),
        archive=lambda: archive,
    )
    [first] = own.archive_entries()
    archive.write_bytes(b"")
    assert own.archive_entries() == (first,)
    assert first.member.read() == b"text"


@pytest.mark.parametrize(
    "member",
    [
        Member(path="etc/passwd", kind=Kind.SYMLINK, mode=0o777, mtime=0, target="../../../etc/hostname"),
        Member(path="etc/passwd", kind=Kind.PIPE, mode=0o644, mtime=0),
        file_of("etc/passwd", bytes((4 << 20) + 1), mtime=0),
    ],
    ids=["link", "pipe", "large"],
)
def test_accounts_that_are_no_small_file_are_refused(tmp_path: Path, member: Member) -> None:
    with pytest.raises(VerificationFailed, match="/etc/passwd of the base is not a file"):
        on_base(tmp_path, member).base_file("etc/passwd")

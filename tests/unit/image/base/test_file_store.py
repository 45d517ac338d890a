"""Files by hash come out only as they went in."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.core.errors import VerificationFailed
from envbuilder.image.base.file_store import FileStore


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(folder=tmp_path / "files")


def added(store: FileStore, content: bytes = b"an archive") -> str:
    file = store.folder.parent / "python.tar.gz"
    file.write_bytes(content)
    return store.add(file)


def test_a_file_comes_out_as_it_went_in(store: FileStore) -> None:
    found = store.find(added(store))
    assert found is not None
    assert found.read_bytes() == b"an archive"
    assert store.find("0" * 64) is None


def test_a_file_that_was_changed_is_refused_and_gone(store: FileStore) -> None:
    digest = added(store)
    found = store.find(digest)
    assert found is not None
    found.chmod(0o644)
    found.write_bytes(b"another")
    later = FileStore(folder=store.folder)
    with pytest.raises(VerificationFailed):
        later.find(digest)
    assert later.find(digest) is None


@pytest.mark.parametrize("name", ["..", ".", "", "../outside", "/etc", "A" * 64, "*"])
def test_what_is_no_hash_is_never_a_path(store: FileStore, name: str) -> None:
    added(store)
    outside = store.folder.parent / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"untouched")
    assert store.find(name) is None
    assert (outside / "secret").read_bytes() == b"untouched"

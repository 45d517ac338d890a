"""Files of locks lie in a directory under names that tell their source."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import VerificationFailed
from envbuilder.image.bundle import files_of
from envbuilder.image.file_directory import FileDirectory, NamedFile, named_files
from envbuilder.lock.lock import OwnFile
from envbuilder.lock.lockfile import load
from envbuilder.oci.store import Store
from tests.fakes.catalogs import good_lock

CONTENT = b"a wheel" * 999
FILE = NamedFile(path="packages/six.whl", digest=f"sha256:{hashlib.sha256(CONTENT).hexdigest()}")


@pytest.fixture
def directory(tmp_path: Path) -> FileDirectory:
    said: list[str] = []
    return FileDirectory(folder=tmp_path / "files", store=Store(folder=tmp_path / "store"), progress=said.append)


def test_every_file_of_a_lock_has_a_path_of_its_own() -> None:
    lock = replace(good_lock(), files=(OwnFile(path="/app/model.bin", sha256="01" * 32, size=1),))
    files = named_files(lock)
    assert {file.digest for file in files} == set(files_of(lock))
    assert len({file.path for file in files}) == len(files)
    paths = {file.path for file in files}
    assert {f"packages/{pin.file}" for pin in lock.packages} <= paths
    assert {f"pythons/{lock.python.file}", f"sha256/{'01' * 32}"} <= paths


def test_what_is_put_into_a_directory_is_taken_from_it_on_another_machine(
    directory: FileDirectory, tmp_path: Path
) -> None:
    directory.store.put(CONTENT)
    assert directory.put([FILE]) == (directory.folder / "packages" / "six.whl",)
    other = replace(directory, store=Store(folder=tmp_path / "other"))
    other.take([FILE])
    assert other.store.read(FILE.digest) == CONTENT


def test_a_file_that_the_store_lacks_is_not_written(directory: FileDirectory) -> None:
    assert directory.put([FILE]) == ()
    assert not directory.folder.exists()


def test_a_damaged_file_of_the_directory_is_not_taken_and_is_replaced(tmp_path: Path) -> None:
    said: list[str] = []
    directory = FileDirectory(folder=tmp_path, store=Store(folder=tmp_path / "store"), progress=said.append)
    (tmp_path / "packages").mkdir()
    path = tmp_path / FILE.path
    path.write_bytes(CONTENT[1:])
    directory.take([FILE])
    assert not directory.store.has(FILE.digest)
    assert str(path) in said[0]
    directory.store.put(CONTENT)
    directory.put([FILE])
    assert path.read_bytes() == CONTENT


def test_a_file_that_is_right_is_not_written_again(directory: FileDirectory) -> None:
    directory.store.put(CONTENT)
    (path,) = directory.put([FILE])
    before = path.stat().st_ino
    directory.put([FILE])
    assert path.stat().st_ino == before


def test_a_damaged_file_of_the_store_is_not_written(directory: FileDirectory) -> None:
    path = directory.store.path(directory.store.put(CONTENT))
    path.chmod(0o644)
    path.write_bytes(b"damaged")
    fresh = replace(directory, store=Store(folder=directory.store.folder))
    with pytest.raises(VerificationFailed):
        fresh.put([FILE])
    assert not (directory.folder / FILE.path).exists()


def test_a_lock_is_written_under_its_environment_and_digest(directory: FileDirectory) -> None:
    lock = good_lock()
    path = directory.put_lock(lock)
    assert path.name.startswith(f"{lock.environment}-")
    assert load(path.read_text(encoding="utf-8"), str(path)) == lock
    assert directory.put_lock(replace(lock, epoch=lock.epoch + 1)) != path

"""`fetch` collects the files of locks in a directory, which stands in for every source on another machine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.catalog.archives import ArchiveFormat
from envbuilder.catalog.environments import BaseKind, CudaProvider
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import dump
from tests.fakes.vendor_archives import archive_of, pin_of
from tests.unit.cli.debs import DEBS
from tests.unit.cli.running import CommandLine


@pytest.mark.usefixtures("lock")
def test_a_directory_fills_the_store_of_a_machine_without_network(envbuilder: CommandLine, debian: str) -> None:
    fetched = envbuilder("fetch", "x.lock", "-o", "usb", "--debian-mirror", debian)
    assert fetched.status == 0, fetched.stderr
    assert "usb: 2 files" in fetched.stdout
    assert (envbuilder.folder / "usb" / "debs" / "pool" / "libc6.deb").read_bytes() == DEBS["libc6"]

    envbuilder.set("ENVBUILDER_CACHE", str(envbuilder.folder / "other"))
    (copied,) = (envbuilder.folder / "usb" / "locks").iterdir()
    again = envbuilder("fetch", str(copied), "-o", "usb", "--offline", "--json")
    assert again.status == 0, again.stderr
    assert json.loads(again.stdout)["missing"] == []


def test_what_cannot_be_fetched_is_named_and_the_rest_is_fetched(
    envbuilder: CommandLine, lock: Lock, debian: str, tmp_path: Path
) -> None:
    path = tmp_path / "archive" / "pool" / "libc6.deb"
    path.unlink()
    ended = envbuilder("fetch", "x.lock", "-o", "usb", "--debian-mirror", debian, "--json")
    assert (ended.status, "Traceback" in ended.stderr) == (5, False)
    document = json.loads(ended.stdout)
    assert [each["files"] for each in document["missing"]] == [["pool/libc6.deb"]]
    assert "404" in document["missing"][0]["problem"]
    assert document["files"] == len(lock.base.packages) - 1
    assert "1 file is missing" in ended.stderr

    path.write_bytes(DEBS["libc6"])
    assert envbuilder("fetch", "x.lock", "-o", "usb", "--debian-mirror", debian).status == 0


@pytest.mark.usefixtures("lock")
def test_a_server_with_another_file_ends_with_the_status_of_a_failed_verification(
    envbuilder: CommandLine, debian: str, tmp_path: Path
) -> None:
    other = DEBS["libc6"].replace(b"a", b"b")
    (tmp_path / "archive" / "pool" / "libc6.deb").write_bytes(other)
    ended = envbuilder("fetch", "x.lock", "-o", "usb", "--debian-mirror", debian)
    assert ended.status == 8
    assert "missing: pool/libc6.deb" in ended.stdout
    assert not (envbuilder.folder / "usb" / "debs" / "pool" / "libc6.deb").exists()


@pytest.mark.usefixtures("lock")
def test_without_network_the_files_that_the_directory_lacks_are_named(envbuilder: CommandLine) -> None:
    ended = envbuilder("fetch", "x.lock", "-o", "usb", "--offline")
    assert ended.status == 5
    assert "missing: pool/libc6.deb, pool/python3.deb" in ended.stdout
    assert "downloads are disabled" in ended.stdout


def test_a_base_that_a_build_pulls_from_its_registry_is_named(envbuilder: CommandLine, lock: Lock) -> None:
    image = "nvidia/cuda:11.8.0-base-ubuntu22.04"
    base = replace(lock.base, kind=BaseKind.IMAGE, image=image, digest=f"sha256:{'0' * 64}", packages=())
    envbuilder.write("x.lock", dump(replace(lock, base=base)))
    ended = envbuilder("fetch", "x.lock", "-o", "usb", "--offline")
    assert ended.status == 0, ended.stderr
    assert f"not in the directory: the base {image}" in ended.stdout


@pytest.fixture
def archive(envbuilder: CommandLine, lock: Lock) -> Path:
    """A vendor archive in `mirror`; the lock needs it, and no OS packages."""
    content = archive_of(ArchiveFormat.TAR_GZIP)
    pin = pin_of(content, ArchiveFormat.TAR_GZIP)
    assert lock.cuda
    cuda = replace(lock.cuda, provider=CudaProvider.ARCHIVE, archives=(pin,))
    envbuilder.write("x.lock", dump(replace(lock, cuda=cuda, base=replace(lock.base, packages=()))))
    path = envbuilder.folder / "mirror" / pin.path
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def test_the_archives_of_the_directory_replace_every_publisher(envbuilder: CommandLine, archive: Path) -> None:
    accepted = ("x.lock", "--accept-nvidia-eula")
    ended = envbuilder("fetch", *accepted, "-o", "usb", "--publisher", "*=mirror")
    assert ended.status == 0, ended.stderr
    assert "usb: 1 file," in ended.stdout
    archive.unlink()
    envbuilder.set("ENVBUILDER_CACHE", str(envbuilder.folder / "other"))
    again = envbuilder("fetch", *accepted, "-o", "usb2", "--publisher", "*=usb/archives", "--offline")
    assert again.status == 0, again.stderr


@pytest.mark.usefixtures("archive")
def test_without_an_accepted_license_the_archive_is_named_with_the_option_that_accepts_it(
    envbuilder: CommandLine,
) -> None:
    ended = envbuilder("fetch", "x.lock", "-o", "usb", "--publisher", "*=mirror")
    assert ended.status == 10
    assert "missing: cuda-9.0.176-runfile" in ended.stdout
    assert "--accept-nvidia-eula" in ended.stdout
    assert not (envbuilder.folder / "usb" / "archives").exists()

"""`mirror` sends the files of a lock to a registry, which stands in for every source afterwards."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.catalog.archives import ArchiveFormat
from envbuilder.catalog.environments import CudaProvider
from envbuilder.lock.lock import Lock, OwnFile
from envbuilder.lock.lockfile import digest, dump
from tests.fakes.catalogs import good_lock
from tests.fakes.vendor_archives import archive_of, pin_of
from tests.unit.cli.debs import DEBS
from tests.unit.cli.running import CommandLine, Ended
from tests.unit.oci.registry.faulty import Fault, Registry


class Elsewhere:
    """Another machine, whose archive no longer has the files of the lock."""

    def __init__(self, envbuilder: CommandLine, debian: str, folder: Path) -> None:
        for name in DEBS:
            (folder / "archive" / "pool" / f"{name}.deb").unlink()
        envbuilder.set("ENVBUILDER_CACHE", str(folder / "other"))
        self.envbuilder, self.debian = envbuilder, debian

    def fetch(self, *options: str) -> Ended:
        return self.envbuilder("fetch", "x.lock", "-o", "usb", "--debian-mirror", self.debian, *options)


def test_a_lock_outlives_its_archive(
    envbuilder: CommandLine, lock: Lock, registry: Registry, debian: str, tmp_path: Path
) -> None:
    repository = f"{registry.host}/team/tf"
    sent = envbuilder("mirror", "x.lock", repository, "--debian-mirror", debian)
    assert sent.status == 0, sent.stderr
    assert f"{repository}:inputs-{digest(lock)[7:19]}: 3 files" in sent.stdout
    assert "not attached: the repository lacks the image" in sent.stdout

    again = json.loads(envbuilder("mirror", "x.lock", repository, "--debian-mirror", debian, "--json").stdout)
    [document] = again["locks"]
    assert (document["files"], document["sent_files"], document["sent_bytes"]) == (3, 0, 0)

    there = Elsewhere(envbuilder, debian, tmp_path)
    assert there.fetch().status == 5
    fetched = there.fetch("--mirror", repository)
    assert fetched.status == 0, fetched.stderr
    assert (envbuilder.folder / "usb" / "debs" / "pool" / "libc6.deb").read_bytes() == DEBS["libc6"]


def test_the_mirror_of_this_host_is_asked_only_when_downloads_are_allowed(
    envbuilder: CommandLine, lock: Lock, registry: Registry, debian: str, tmp_path: Path
) -> None:
    repository = f"{registry.host}/team/tf"
    assert envbuilder("mirror", "x.lock", repository, "--debian-mirror", debian).status == 0
    there = Elsewhere(envbuilder, debian, tmp_path)
    envbuilder.set("ENVBUILDER_MIRROR", repository)
    registry.seen.clear()
    assert there.fetch("--offline").status == 5
    assert registry.seen == []
    assert there.fetch().status == 0
    envbuilder.set("ENVBUILDER_MIRROR", "https://me:secret@host/tf")
    wrong = there.fetch()
    assert (wrong.status, "secret" in wrong.stderr) == (2, False)
    assert "ENVBUILDER_MIRROR" in wrong.stderr


def test_wrong_bytes_of_a_mirror_end_with_the_status_of_a_failed_verification(
    envbuilder: CommandLine, lock: Lock, registry: Registry, debian: str, tmp_path: Path
) -> None:
    repository = f"{registry.host}/team/tf"
    assert envbuilder("mirror", "x.lock", repository, "--debian-mirror", debian).status == 0
    there = Elsewhere(envbuilder, debian, tmp_path)
    registry.faults.append(Fault(match="GET .*/blobs/", times=99, damage=True))
    ended = there.fetch("--mirror", repository)
    assert (ended.status, "Traceback" in ended.stderr) == (8, False)
    assert "has other content under its sha256" in ended.stdout
    assert not (envbuilder.folder / "usb" / "debs").exists()


def test_a_lock_with_missing_files_is_not_mirrored(
    envbuilder: CommandLine, lock: Lock, registry: Registry, debian: str, tmp_path: Path
) -> None:
    (tmp_path / "archive" / "pool" / "libc6.deb").unlink()
    ended = envbuilder("mirror", "x.lock", f"{registry.host}/team/tf", "--debian-mirror", debian)
    assert ended.status == 5
    assert "missing: pool/libc6.deb" in ended.stdout
    assert "nothing was sent" in ended.stdout
    assert registry.manifests == {}


def test_the_interpreter_and_own_files_come_from_the_mirror_too(
    envbuilder: CommandLine, lock: Lock, registry: Registry
) -> None:
    content = b"own file"
    own = OwnFile(path="/app/x", sha256=registry.put_blob("team/tf", content)[7:], size=len(content))
    interpreter = replace(good_lock().python, sha256=registry.put_blob("team/tf", b"an interpreter")[7:])
    base = replace(lock.base, packages=())
    envbuilder.write("x.lock", dump(replace(lock, base=base, files=(own,), python=interpreter)))
    ended = envbuilder("fetch", "x.lock", "-o", "usb", "--mirror", f"{registry.host}/team/tf")
    assert ended.status == 0, ended.stdout + ended.stderr
    assert (envbuilder.folder / "usb" / "pythons" / interpreter.file).read_bytes() == b"an interpreter"


def test_an_archive_with_a_license_is_not_sent_before_that_is_accepted(
    envbuilder: CommandLine, lock: Lock, registry: Registry
) -> None:
    content = archive_of(ArchiveFormat.TAR_GZIP)
    pin = pin_of(content, ArchiveFormat.TAR_GZIP)
    assert lock.cuda
    cuda = replace(lock.cuda, provider=CudaProvider.ARCHIVE, archives=(pin,))
    envbuilder.write("x.lock", dump(replace(lock, cuda=cuda, base=replace(lock.base, packages=()))))
    (envbuilder.folder / "publisher" / pin.path).parent.mkdir(parents=True)
    (envbuilder.folder / "publisher" / pin.path).write_bytes(content)
    command = ("mirror", "x.lock", f"{registry.host}/team/tf", "--publisher", "*=publisher")
    assert envbuilder(*command).status == 10
    assert registry.lines("PUT|POST") == []
    assert envbuilder(*command, "--accept-nvidia-eula").status == 0


@pytest.mark.parametrize("place", ["", "team/tf", "localhost:5000/tf:1", "https://localhost/tf"])
def test_a_name_that_is_no_repository_is_a_usage_error(envbuilder: CommandLine, lock: Lock, place: str) -> None:
    assert envbuilder("mirror", "x.lock", place).status == 2

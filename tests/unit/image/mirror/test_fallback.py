"""Wheels, .debs and archives that their sources no longer have come from a mirror; nothing else is asked of it."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.catalog.archives import ArchiveFormat, ArchivePin
from envbuilder.catalog.environments import BaseKind
from envbuilder.core.errors import LicenseNotAccepted, NotOnIndex, SourceUnreachable, VerificationFailed
from envbuilder.core.http.retries import TRIES, Pacing
from envbuilder.core.http.web import Web
from envbuilder.image.assemble import assemble
from envbuilder.image.base.deb.archive import DebArchive
from envbuilder.image.base.deb.rollback import SeenReleases
from envbuilder.image.base.deb_trees import DebTrees
from envbuilder.image.base.tree_store import TreeStore
from envbuilder.image.mirror.fallback import MirroredArchives, MirroredPackages
from envbuilder.image.mirror.file_mirror import RegistryMirror
from envbuilder.lock.lock import Lock, OsPackagePin
from envbuilder.oci.images import LayerFormat
from envbuilder.oci.store import Store
from tests.fakes.vendor_archives import Shelf, pin_of
from tests.unit.image.mirror.conftest import NAME
from tests.unit.image.toys import ToyPackages, World
from tests.unit.oci.registry.faulty import Fault, Registry

DEB = b"a .deb" * 99
PIN = OsPackagePin(
    name="toy", version="1", sha256=hashlib.sha256(DEB).hexdigest(), file="pool/toy.deb", size=len(DEB)
)  # fmt: skip
ARCHIVE = b"an archive" * 99


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(folder=tmp_path)


@pytest.fixture
def packages(world: World, store: Store, mirror: RegistryMirror) -> MirroredPackages:
    return MirroredPackages(packages=ToyPackages(world, store), mirror=mirror)


def put(world: World, registry: Registry, lock: Lock) -> None:
    """Mirror the wheels of a lock."""
    for pin in lock.packages:
        registry.put_blob(NAME, (world.index / pin.file).read_bytes())


def test_a_lock_is_built_after_the_index_has_forgotten_all_its_files(
    world: World, registry: Registry, mirror: RegistryMirror
) -> None:
    lock = world.lock()
    [before] = assemble([lock], LayerFormat.TAR, world.ports("here"), lambda _: None).images
    put(world, registry, lock)
    world.gone |= {pin.file for pin in lock.packages}
    world.fetched.clear()
    ports = world.ports("there")
    fallback = replace(mirror, store=ports.store)
    ports = replace(ports, packages=MirroredPackages(packages=ports.packages, mirror=fallback))
    [after] = assemble([lock], LayerFormat.TAR, ports, lambda _: None).images
    assert after.image.manifest == before.image.manifest
    assert world.fetched == []


def test_only_files_that_the_index_does_not_list_come_from_the_mirror(
    world: World, registry: Registry, packages: MirroredPackages
) -> None:
    lock = world.lock()
    put(world, registry, lock)
    gone = lock.packages[1]
    world.gone.add(gone.file)
    found = packages.locate(lock.packages, "3.8")
    assert [file.file for file in found] == [pin.file for pin in lock.packages]
    assert [file.file for file in found if not file.url] == [gone.file]
    for file in found:
        packages.fetch(file, lambda _done, _all: None)
    assert world.fetched == [pin.file for pin in lock.packages if pin is not gone]
    assert registry.lines("GET .*blobs") == [f"GET /v2/{NAME}/blobs/sha256:{gone.sha256}"]


def test_a_listed_file_that_the_index_does_not_deliver_comes_from_the_mirror(
    world: World, registry: Registry, packages: MirroredPackages, store: Store
) -> None:
    lock = world.lock()
    put(world, registry, lock)
    world.unreachable.add(lock.packages[0].file)
    [file] = packages.locate(lock.packages[:1], "3.8")
    packages.fetch(file, lambda _done, _all: None)
    assert store.has(f"sha256:{file.sha256}")


def test_the_index_stays_the_reason_for_files_that_the_mirror_lacks_too(
    world: World, registry: Registry, packages: MirroredPackages
) -> None:
    lock = world.lock()
    first, second = lock.packages[:2]
    registry.put_blob(NAME, (world.index / first.file).read_bytes())
    world.gone |= {first.file, second.file}
    with pytest.raises(NotOnIndex) as raised:
        packages.locate(lock.packages, "3.8")
    assert raised.value.files == (second.file,)


def test_the_mirror_is_not_asked_while_the_index_has_everything(
    world: World, registry: Registry, packages: MirroredPackages
) -> None:
    for file in packages.locate(world.lock().packages, "3.8"):
        packages.fetch(file, lambda _done, _all: None)
    assert registry.seen == []


def debian(folder: Path, store: Store, mirror: RegistryMirror, *archives: str) -> DebTrees:
    archive = DebArchive(mirrors=archives, store=store, web=Web({}), seen=SeenReleases(folder / "seen"))
    return DebTrees(
        store=store,
        trees=TreeStore(folder / "bases"),
        archives={BaseKind.DEBIAN: archive},
        work=folder / "work",
        progress=lambda _: None,
        mirror=mirror,
    )


@pytest.mark.parametrize("archives", [1, 0])
def test_debs_that_no_archive_has_come_from_the_mirror(
    tmp_path: Path, registry: Registry, store: Store, mirror: RegistryMirror, archives: int
) -> None:
    registry.put_blob(NAME, DEB)
    trees = debian(tmp_path, store, mirror, *[f"file://{tmp_path}/nowhere"] * archives)
    assert trees.fetch_all(BaseKind.DEBIAN, [PIN]) == ()
    assert store.read(f"sha256:{PIN.sha256}") == DEB


def test_an_archive_that_does_not_answer_is_asked_for_one_deb_only(
    tmp_path: Path, registry: Registry, store: Store, mirror: RegistryMirror
) -> None:
    """Each attempt waits for seconds."""
    others = [
        replace(PIN, file=f"pool/{number}.deb", sha256=registry.put_blob(NAME, bytes(number))[7:])
        for number in range(1, 9)
    ]
    lost = replace(PIN, name="lost", file="pool/lost.deb", sha256="1" * 64)
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    trees = debian(tmp_path, store, mirror, address)
    pauses: list[float] = []
    quick = replace(trees.archives[BaseKind.DEBIAN], pacing=Pacing(pause=pauses.append))
    [failure] = replace(trees, archives={BaseKind.DEBIAN: quick}).fetch_all(BaseKind.DEBIAN, [*others, lost])
    assert failure.error.message.startswith("lost.deb cannot be fetched: no Debian archive answers (1.deb")
    assert len(pauses) == TRIES - 1


def test_debs_that_the_mirror_lacks_too_are_reported_with_the_failure_of_the_archive(
    tmp_path: Path, registry: Registry, store: Store, mirror: RegistryMirror
) -> None:
    registry.put_blob(NAME, DEB)
    other = replace(PIN, name="other", file="pool/other.deb", sha256="1" * 64)
    trees = debian(tmp_path, store, mirror, f"file://{tmp_path}/nowhere")
    [failure] = trees.fetch_all(BaseKind.DEBIAN, [PIN, other])
    assert failure.pin == other
    assert "other.deb cannot be fetched" in failure.error.message
    assert store.has(f"sha256:{PIN.sha256}")
    with pytest.raises(SourceUnreachable, match="needs an archive of Debian"):
        debian(tmp_path, store, mirror).fetch_all(BaseKind.DEBIAN, [other])


def test_a_deb_with_other_bytes_in_the_archive_is_not_replaced_silently(
    tmp_path: Path, registry: Registry, store: Store, mirror: RegistryMirror
) -> None:
    registry.put_blob(NAME, DEB)
    (tmp_path / "debian" / "pool").mkdir(parents=True)
    (tmp_path / "debian" / "pool" / "toy.deb").write_bytes(DEB.replace(b"a", b"b"))
    [failure] = debian(tmp_path, store, mirror, f"file://{tmp_path}/debian").fetch_all(BaseKind.DEBIAN, [PIN])
    assert isinstance(failure.error, VerificationFailed)
    assert registry.seen == []


def test_a_mirror_that_fails_is_named_beside_the_archive(
    tmp_path: Path, registry: Registry, store: Store, mirror: RegistryMirror
) -> None:
    registry.faults.append(Fault(match="HEAD", times=99, status=503))
    [failure] = debian(tmp_path, store, mirror, f"file://{tmp_path}/nowhere").fetch_all(BaseKind.DEBIAN, [PIN])
    assert "; mirror: " in failure.error.message


class Locked:
    """A publisher whose license was not accepted."""

    def fetch(self, pin: ArchivePin, progress: Callable[[int, int], None]) -> None:  # noqa: ARG002  the port names them
        raise LicenseNotAccepted("the license has to be accepted")


def test_an_archive_that_its_publisher_has_removed_comes_from_the_mirror(
    registry: Registry, store: Store, mirror: RegistryMirror
) -> None:
    registry.put_blob(NAME, ARCHIVE)
    pin = pin_of(ARCHIVE, ArchiveFormat.TAR_GZIP)
    MirroredArchives(files=Shelf(store=store, archives={}), mirror=mirror).fetch(pin, lambda _done, _all: None)
    assert store.has(f"sha256:{pin.sha256}")


def test_a_mirror_does_not_replace_the_acceptance_of_a_license(registry: Registry, mirror: RegistryMirror) -> None:
    registry.put_blob(NAME, ARCHIVE)
    with pytest.raises(LicenseNotAccepted):
        MirroredArchives(files=Locked(), mirror=mirror).fetch(
            pin_of(ARCHIVE, ArchiveFormat.TAR_GZIP), lambda _done, _all: None
        )
    assert registry.seen == []

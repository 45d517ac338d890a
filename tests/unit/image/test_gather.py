"""Everything that a lock needs is brought into the store, and named by digest."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.catalog.archives import ArchiveFormat
from envbuilder.catalog.environments import BaseKind
from envbuilder.core.errors import SourceUnreachable
from envbuilder.core.http.web import Web
from envbuilder.image.base.deb.archive import DebArchive
from envbuilder.image.base.deb.rollback import SeenReleases
from envbuilder.image.base.deb_trees import DebTrees
from envbuilder.image.base.file_store import FileStore
from envbuilder.image.base.tree_store import TreeStore
from envbuilder.image.base_contents import BaseContents
from envbuilder.image.gather import Gatherer
from envbuilder.image.pinned_files import PinnedFiles
from envbuilder.image.running.host_gpus import HostGpus
from envbuilder.image.running.image_runner import ImageRunner
from envbuilder.lock.lock import Lock, PackageGroup, ToolName
from envbuilder.oci.layout.rootfs import unpack
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.runtime.unconfined import Unconfined
from envbuilder.oci.transfers import Transfer
from tests.fakes.following import following
from tests.fakes.vendor_archives import Shelf, pin_of, with_archives
from tests.unit.image.toys import ToyPackages, World, no_sandbox


def no_registry() -> RegistryClient:
    raise SourceUnreachable("no registry is asked for a Debian base")


class Machine:
    """A machine with an empty store, beside the index of a world."""

    def __init__(self, world: World) -> None:
        folder = world.folder / "machine"
        self.world = world
        self.store = world.ports("machine").store
        self.said: list[str] = []
        self.transfers: list[Transfer] = []
        debian = DebTrees(
            store=self.store,
            trees=TreeStore(folder / "bases"),
            archives={
                BaseKind.DEBIAN: DebArchive(
                    mirrors=(), store=self.store, web=Web({}), seen=SeenReleases(folder / "seen")
                )
            },
            work=folder / "work",
            progress=self.said.append,
            offline=True,
        )
        self.files = PinnedFiles(
            store=self.store,
            files=FileStore(folder=folder / "files"),
            own_tools={ToolName.PROBE: b"probe", ToolName.HOOK: b"hook"},
        )
        runner = ImageRunner(
            sandbox=no_sandbox,
            lookup=lambda _: None,
            unpack=unpack,
            store=self.store,
            trees=folder / "trees",
            following=following(folder, Unconfined(work=folder)),
            gpus=HostGpus(root=folder, search_path=""),
            progress=self.said.append,
        )
        self.gatherer = Gatherer(
            store=self.store,
            files=self.files,
            packages=ToyPackages(world, self.store),
            debian=debian,
            archives=Shelf(store=self.store, archives=world.archives, fetched=world.fetched),
            bases=BaseContents(
                debian=debian,
                registry_mirror="",
                connect=no_registry,
                store=self.store,
                runner=runner,
                listener=lambda _: None,
            ),
            progress=self.said.append,
            listener=self.transfers.append,
        )

    def lock(self) -> Lock:
        """A lock whose base and archive are on this machine, and whose packages are on the index."""
        lock = self.world.lock()
        self.files.files.add(self.world.archive)
        self.store.take(self.world.base.path)
        return replace(lock, tools=self.files.own_pins())


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(World(folder=tmp_path))


def test_every_file_of_a_lock_is_in_the_store_afterwards(machine: Machine) -> None:
    lock = machine.lock()
    digests = machine.gatherer.gather(lock)
    named = {*(pin.sha256 for pin in lock.packages), *(pin.sha256 for pin in lock.tools)}
    assert {f"sha256:{sha256}" for sha256 in named} <= set(digests)
    assert {lock.base.digest, f"sha256:{lock.python.sha256}"} <= set(digests)
    assert all(machine.store.has(digest) for digest in digests)
    assert {pin.file for pin in lock.packages} <= {each.item for each in machine.transfers if each.is_complete}
    assert machine.world.fetched == [pin.file for pin in lock.packages]
    assert machine.said == [f"fetching {pin.file}" for pin in lock.packages]


def test_what_the_store_has_is_not_fetched_again(machine: Machine) -> None:
    lock = machine.lock()
    first = machine.gatherer.gather(lock)
    machine.world.fetched.clear()
    assert machine.gatherer.gather(lock) == first
    assert machine.world.fetched == []


def test_a_file_that_cannot_be_had_is_named(machine: Machine) -> None:
    lock = machine.lock()
    machine.world.unreachable.add(lock.group(PackageGroup.FRAMEWORK)[0].file)
    with pytest.raises(SourceUnreachable, match="tensorflow_gpu"):
        machine.gatherer.gather(lock)
    other = hashlib.sha256(gzip.compress(b"other")).hexdigest()
    with pytest.raises(SourceUnreachable, match=r"cpython-3\.8\.18"):
        machine.gatherer.gather(replace(lock, packages=(), python=replace(lock.python, sha256=other)))


def test_a_failure_does_not_keep_other_files_from_being_fetched(machine: Machine) -> None:
    lock = machine.lock()
    framework = lock.group(PackageGroup.FRAMEWORK)[0].file
    machine.world.unreachable.add(framework)
    other = hashlib.sha256(b"other").hexdigest()
    failed = list(machine.gatherer.fetch(replace(lock, python=replace(lock.python, sha256=other))))
    assert [failure.names for failure in failed] == [(framework,), (lock.python.file,)]
    assert machine.world.fetched == [pin.file for pin in lock.packages if pin.file != framework]


def test_files_that_the_index_has_are_fetched_if_it_lacks_others(machine: Machine) -> None:
    lock = machine.lock()
    gone = lock.group(PackageGroup.CUDA)[0].file
    machine.world.gone.add(gone)
    assert [failure.names for failure in machine.gatherer.fetch(lock)] == [(gone,)]
    assert machine.world.fetched == [pin.file for pin in lock.packages if pin.file != gone]


def test_vendor_archives_are_fetched_and_named(machine: Machine) -> None:
    there, gone = (pin_of(name.encode(), ArchiveFormat.TAR_GZIP, name=name) for name in ("cuda", "cudnn"))
    machine.world.archives["cuda"] = b"cuda"
    lock = with_archives(machine.lock(), there, gone)
    assert [failure.names for failure in machine.gatherer.fetch(lock)] == [("cudnn",)]
    assert machine.store.has(f"sha256:{there.sha256}")
    machine.world.archives["cudnn"] = b"cudnn"
    assert {f"sha256:{pin.sha256}" for pin in (there, gone)} <= set(machine.gatherer.gather(lock))


def test_a_package_that_is_a_build_dependency_too_is_fetched_once(machine: Machine) -> None:
    lock = machine.lock()
    own = lock.group(PackageGroup.OWN)[0]
    twice = replace(lock, packages=(*lock.packages, replace(own, group=PackageGroup.BUILD)))
    assert list(machine.gatherer.fetch(twice)) == []
    assert machine.world.fetched.count(own.file) == 1

"""A world in which images are assembled for real, of toy files: no Python source, so that no interpreter is run."""

from __future__ import annotations

import gzip
import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from envbuilder.core.errors import NotOnIndex, SourceUnreachable, ToolMissing
from envbuilder.image.base.tree_store import DebTree
from envbuilder.image.base_contents import TreeContent
from envbuilder.image.layers.inputs import Base
from envbuilder.image.layers.ports import AssemblyContext
from envbuilder.image.layers.records import Records
from envbuilder.lock.index.index import IndexFile
from envbuilder.lock.lock import Lock, PackageGroup, PackagePin, ToolName
from envbuilder.oci.runtime.sandbox import Sandbox
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import file_of
from envbuilder.oci.tar.writing import write
from tests.fakes.catalogs import good_lock
from tests.fakes.vendor_archives import Shelf
from tests.unit.image.layers.wheels import wheel

CUDA = {"nvidia/cusolver/lib/libcusolver.so.11": b"cusolver" * 99}


def no_sandbox() -> Sandbox:
    """Images of toys run no interpreter."""
    raise ToolMissing("nothing can be run here")


@dataclass(kw_only=True)
class World:
    """An index of toy wheels, a base, an interpreter; each store is another machine.

    Attributes:
        folder: Holds everything.
        fetched: Names of the files that were fetched, in order.
        unreachable: Names of files that cannot be had.
        gone: Names of files that the index does not list.
        opened: How often a base was opened.
        libraries: Names of the libraries of the base.
        archives: Vendor archives by their id.
        before_fetch: Called before a file is given, by its name.
    """

    folder: Path
    fetched: list[str] = field(default_factory=list)
    unreachable: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    opened: list[str] = field(default_factory=list)
    libraries: tuple[str, ...] = ()
    archives: dict[str, bytes] = field(default_factory=dict)
    before_fetch: dict[str, Callable[[], None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.index = self.folder / "index"
        self.index.mkdir()
        base = [
            file_of("etc/passwd", b"root:x:0:0::/root:/bin/sh\n", mtime=1),
            file_of("bin/sh", b"sh", mtime=1),
            *(file_of(f"usr/lib/{name}", b"library", mtime=1) for name in self.libraries),
        ]
        self.base = write(base, self.folder / "base.tar")
        plain = write([file_of("python/bin/python3.8", b"python", mtime=1)], self.folder / "python.tar")
        self.archive = self.folder / "python.tar.gz"
        self.archive.write_bytes(gzip.compress(plain.path.read_bytes(), mtime=0))

    def pin(self, name: str, files: Mapping[str, bytes], group: PackageGroup, version: str = "1.0") -> PackagePin:
        """A toy wheel on the index."""
        dist_info = f"{name.replace('-', '_')}-{version}.dist-info"
        file = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
        content = wheel(self.index, files, name=file, dist_info=dist_info).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        return PackagePin(name=name, version=version, file=file, sha256=digest, group=group, size=len(content))

    def lock(self, *own: PackagePin, tensorflow: bytes = b"tensorflow" * 500) -> Lock:
        """A lock of CUDA, TensorFlow, one package that it needs, and own packages."""
        good = good_lock()
        pins = (
            self.pin("nvidia-cusolver", CUDA, PackageGroup.CUDA),
            self.pin("tensorflow-gpu", {"tensorflow/core.bin": tensorflow}, PackageGroup.FRAMEWORK, "2.4.4"),
            self.pin("numpy", {"numpy/data.txt": b"numbers\n" * 50}, PackageGroup.PACKAGES),
        )
        return replace(
            good,
            base=replace(good.base, digest=f"sha256:{self.base.sha256}"),
            python=replace(good.python, sha256=hashlib.sha256(self.archive.read_bytes()).hexdigest()),
            os_packages=(),
            packages=(*pins, *(own or (self.own(b"own"),))),
        )

    def own(self, content: bytes, name: str = "six") -> PackagePin:
        """An own package."""
        return self.pin(name, {f"{name}/data.txt": content}, PackageGroup.OWN)

    def ports(self, machine: str, *, jobs: int = 2) -> AssemblyContext:
        """What assembling has on a machine, whose store begins empty."""
        store = Store(folder=self.folder / machine / "store")
        return AssemblyContext(
            store=store,
            records=Records(store=store),
            bases=ToyBases(self, store),
            packages=ToyPackages(self, store),
            files=ToyTools(self.archive),
            archives=Shelf(store=store, archives=self.archives, fetched=self.fetched).libraries(),
            sandbox=no_sandbox,
            work=self.folder / machine / "work",
            jobs=jobs,
        )

    def damage(self, machine: str, digest: str) -> None:
        """Change one byte of a file in the store of a machine."""
        path = Store(folder=self.folder / machine / "store").path(digest)
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF
        path.chmod(0o644)
        path.write_bytes(bytes(content))

    def forget(self, machine: str) -> None:
        """Remove everything of a machine."""
        shutil.rmtree(self.folder / machine)

    def tree(self) -> DebTree:
        self.opened.append(self.base.sha256)
        return self.described()

    def described(self) -> DebTree:
        return DebTree(
            id="debian-new", path=self.base.path, digest=f"sha256:{self.base.sha256}", size=self.base.size,
            suite="bookworm", packages=(),
        )  # fmt: skip


@dataclass(frozen=True)
class ToyBases:
    """The `Bases` of a world: one tree for all locks."""

    world: World
    store: Store

    def open(self, lock: Lock, fetch_tree: Callable[[], None]) -> Base:
        def find_tree() -> DebTree:
            if not self.store.has(lock.base.digest):
                fetch_tree()
            if not self.store.has(lock.base.digest):
                return self.world.tree()
            return replace(self.world.described(), path=self.store.verified(lock.base.digest))

        return Base(content=TreeContent(find_tree))


@dataclass(frozen=True)
class ToyPackages:
    """The `PackageFiles` of a world, for the store of one machine."""

    world: World
    store: Store

    def locate(self, pins: Sequence[PackagePin], python: str) -> Sequence[IndexFile]:
        assert python == "3.8"
        if gone := tuple(pin.file for pin in pins if pin.file in self.world.gone):
            raise NotOnIndex(gone)
        return [
            IndexFile(file=pin.file, sha256=pin.sha256, url=(self.world.index / pin.file).as_uri(), size=pin.size)
            for pin in pins
        ]

    def fetch(self, file: IndexFile, progress: Callable[[int, int], None]) -> None:
        if file.file in self.world.unreachable:
            raise SourceUnreachable(f"{file.file} cannot be fetched", hint="check the network")
        self.world.before_fetch.get(file.file, lambda: None)()
        self.world.fetched.append(file.file)
        with self.store.receiving(f"sha256:{file.sha256}") as receiver:
            assert receiver is not None
            receiver.write((self.world.index / file.file).read_bytes())
        progress(file.size, file.size)


@dataclass(frozen=True)
class ToyTools:
    """The `ToolFiles` of a world: one archive for all locks, tools whose content is their name."""

    python: Path

    def archive(self, lock: Lock) -> Path:  # noqa: ARG002  the port names it
        return self.python

    def tool(self, lock: Lock, name: str) -> bytes:
        return name.encode() if name == ToolName.PROBE or lock.tool(name) else b""

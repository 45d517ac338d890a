"""The composition root: which adapter stands behind which port in a real run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from envbuilder import __version__
from envbuilder.assembling.ingredients import BaseContent
from envbuilder.assembling.records import Records
from envbuilder.bases.debian import bootstrap
from envbuilder.bases.docker_archive import docker_archive
from envbuilder.bases.file_store import FileStore
from envbuilder.bases.locating import DebianBases, PythonArchives
from envbuilder.bases.programs import Host, run_program
from envbuilder.bases.python_archive import pack
from envbuilder.bases.tree_content import TreeContent
from envbuilder.bases.tree_store import DebianStore
from envbuilder.bases.uv_python import from_uv
from envbuilder.bases.uv_tool import fetch_uv, find_uv, uv_version
from envbuilder.building.docker_engine import connect
from envbuilder.building.engine import Engine, Listener
from envbuilder.building.registry_bases import RegistryBases, fetch_base
from envbuilder.cli.output import notice
from envbuilder.cli.places import Places
from envbuilder.errors import SourceUnreachable, UsageError
from envbuilder.indexing.fetching import fetch_into, length_of
from envbuilder.indexing.uv_index import UvIndex
from envbuilder.locking.apt import AptResolver
from envbuilder.locking.mirrors import apt_sources, debian_mirror
from envbuilder.locking.shipped import ClosureFolder
from envbuilder.locking.uv_resolver import UvResolver
from envbuilder.model.closures import Chosen
from envbuilder.model.locations import Located
from envbuilder.model.locks import BasePin, Lock, OsPackagePin, Sources, Spec, ToolPin
from envbuilder.model.refs import ImageRef
from envbuilder.model.rows import BaseKind, BaseSystem, Catalog
from envbuilder.model.trees import DebianTree, PythonArchive
from envbuilder.model.versions import Release
from envbuilder.planning.layers import base_reference
from envbuilder.probing.containers import probe_source
from envbuilder.store import Store
from envbuilder.workflows.assemble_ports import AssemblePorts
from envbuilder.workflows.build import BuildPorts
from envbuilder.workflows.lock import LockPorts
from envbuilder.workflows.render import HostFile

PROBE = "probe"
_ASKING = 12
EPOCH = 1_700_000_000
"""Time stamp of everything in a base or an interpreter archive: 2023-11-14T22:13:20Z. Any fixed moment would do."""


@dataclass(frozen=True)
class Composition:
    """Adapters of one run, made when they are first needed.

    Attributes:
        places: Folders and host settings.
        catalog: The rows and bases.
        say: Told in one sentence what is being done.
        listener: Told about transfers of the engine.
    """

    places: Places
    catalog: Catalog
    say: Callable[[str], None] = notice
    listener: Listener = lambda _: None

    @cached_property
    def engine(self) -> Engine:
        """The container engine; nothing is opened before its first request."""
        return connect(self.places.environ)

    @cached_property
    def trees(self) -> DebianStore:
        """Debian trees made before."""
        return DebianStore(self.places.cache / "bases")

    @cached_property
    def files(self) -> FileStore:
        """Interpreter archives and tools."""
        return FileStore(folder=self.places.cache / "files")

    @cached_property
    def uv(self) -> Path:
        """The uv that was installed with us."""
        return find_uv()

    def lock_ports(self, spec: Spec) -> LockPorts:
        """What `workflows.lock` reads from the world."""
        return LockPorts(
            bases={
                BaseKind.IMAGE: RegistryBases(engine=self.engine),
                BaseKind.DEBIAN: DebianBases(store=self.trees, make=self.make_tree),
            },
            pythons=PythonArchives(store=self.files, fetch=self._fetch_python),
            shipped=self.closures,
            resolver=self.resolver(spec.sources),
            os_resolver=_BaseApt(self),
            measure=lambda chosen, python: self._lengths(chosen, python, spec.sources),
            tools=(self.probe_pin(), self.uv_pin()),
            notice=self.say,
        )

    def _lengths(self, chosen: Sequence[Chosen], python: str, sources: Sources) -> list[int]:
        files = self.index(sources).locate(chosen, python)
        with ThreadPoolExecutor(_ASKING) as pool:
            return list(pool.map(length_of, files))

    @cached_property
    def closures(self) -> ClosureFolder:
        """The packages that come with the rows."""
        return ClosureFolder(folder=self.places.matrices / "locks")

    def resolver(self, sources: Sources) -> UvResolver:
        """Resolves Python packages."""
        return UvResolver(
            uv=self.uv,
            cache=self.places.cache / "uv",
            environ=self.places.environ,
            index=self.index_address(sources),
        )

    def index_address(self, sources: Sources) -> str:
        """The package index that was named, here or on this host; empty means uv's own configuration."""
        return sources.index or self.places.index

    def build_ports(self, sources: Sources) -> BuildPorts:
        """What `workflows.build` needs of the world."""
        return BuildPorts(
            engine=self.engine,
            provide_base=lambda lock: self.provide_base(lock.base, sources),
            find_file=self.find_file,
            templates=self.places.templates,
            work=self.places.cache / "work",
            notice=self.say,
        )

    def index(self, sources: Sources) -> UvIndex:
        """The package index."""
        return UvIndex(
            uv=self.uv,
            cache=self.places.cache / "uv",
            environ=self.places.environ,
            index=self.index_address(sources),
        )

    @cached_property
    def store(self) -> Store:
        """Everything fetched and assembled."""
        return Store(folder=self.places.cache / "store")

    @cached_property
    def records(self) -> Records:
        """Layers and images of the store."""
        return Records(store=self.store)

    def assemble_ports(self, sources: Sources, *, jobs: int = 0) -> AssemblePorts:
        """What `workflows.assemble` needs of the world."""
        return AssemblePorts(
            store=self.store,
            records=self.records,
            base=lambda lock: self.base_content(lock, sources),
            locate=lambda pins, python: self.index(sources).locate(pins, python),
            fetch=lambda file, progress: fetch_into(file, self.store, progress=progress),
            archive=self._archive,
            probe=self._probe,
            provided=lambda _content: frozenset(),
            package_of=lambda _name: "",
            work=self.places.cache / "work",
            jobs=jobs or os.cpu_count() or 1,
        )

    def base_content(self, lock: Lock, sources: Sources) -> BaseContent:
        """The base of a lock, opened when it is first needed."""
        return TreeContent(lambda: self.tree(lock.base, sources))

    def tree(self, pin: BasePin, sources: Sources) -> DebianTree:
        """The Debian tree of a lock."""
        tree = self.trees.get(pin.id, pin.digest)
        if tree is None:
            raise SourceUnreachable(f"the tree {pin.id} with digest {pin.digest} is not here")
        return tree

    def _archive(self, lock: Lock) -> Path:
        found = self.find_file(lock.python.sha256)
        if found is None:
            raise SourceUnreachable(
                f"{lock.python.file} with sha256 {lock.python.sha256} is not on this machine",
                hint="name it with --python-archive FILE, or lock again: `envbuilder lock`",
            )
        return found

    def _probe(self, lock: Lock) -> bytes:
        """The probe of a lock, which may be another one than ours."""
        pin = next((tool for tool in lock.tools if tool.name == PROBE), None)
        if pin is None:
            return b""
        self.probe_pin()
        return self.store.read(f"sha256:{pin.sha256}")

    def probe_pin(self) -> ToolPin:
        """The probe of this version as a pin; it goes into the store."""
        digest = self.store.put(probe_source())
        return ToolPin(name=PROBE, version=__version__, sha256=digest.removeprefix("sha256:"))

    def uv_pin(self) -> ToolPin:
        """The uv of this run as a pin; the program itself goes into the store, where a build finds it by hash."""
        digest = self.files.add(self.uv)
        return ToolPin(name="uv", version=uv_version(self.uv, self.host), sha256=digest)

    def provide_tools(self, lock: Lock) -> None:
        """Make sure that the store has the tools of a lock, which may have been made with another uv than ours.

        Raises:
            SourceUnreachable: The index does not have that version.
            VerificationFailed: Its program is not the one of the lock.
        """
        self.files.add(self.uv)
        for pin in lock.tools:
            if pin.name != PROBE and self.files.find(pin.sha256) is None:
                self.say(f"fetching {pin.name} {pin.version}, which the lock was made with")
                with tempfile.TemporaryDirectory(prefix="envbuilder-tool-") as folder:
                    program = fetch_uv(pin, uv=self.uv, folder=Path(folder), host=self.host)
                    self.files.add(program)

    def find_file(self, sha256: str) -> Path | None:
        """A file that a lock names by hash."""
        return self.files.find(sha256)

    def add_archives(self, sources: Sources) -> None:
        """Take the archives that the user names into the store."""
        for path in sources.python_archives:
            self.files.add(Path(path))

    @cached_property
    def host(self) -> Host:
        """What bases and archives are made with on this machine."""
        environ = {**self.places.environ, "UV_CACHE_DIR": str(self.places.cache / "uv")}
        return Host(environ=environ, run=run_program, as_root=os.geteuid() == 0)

    def mirror(self, sources: Sources) -> str:
        """The Debian archive to use; empty leaves it to the tool."""
        return sources.debian_mirror or debian_mirror(self.places.apt_sources)

    def make_tree(self, system: BaseSystem, sources: Sources) -> DebianTree:
        """Bootstrap a Debian tree and keep it."""
        self.say(f"bootstrapping {system.id} from Debian packages; takes about half a minute")
        self.trees.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.trees.folder, prefix=".making-") as work:
            made = bootstrap(system, mirror=sources.debian_mirror, epoch=EPOCH, work=Path(work), host=self.host)
            return self.trees.put(made)

    def pack_python(self, interpreter: Path, folder: Path) -> PythonArchive:
        """Make an interpreter archive and keep it."""
        archive = pack(interpreter, folder, epoch=EPOCH, host=self.host)
        self.files.add(archive.path)
        return archive

    def _fetch_python(self, version: Release, folder: Path) -> PythonArchive:
        self.say(f"asking uv for a managed Python {version}")
        interpreter = from_uv(version, uv=self.uv, folder=self.places.cache / "pythons", host=self.host)
        return pack(interpreter, folder, epoch=EPOCH, host=self.host)

    def provide_base(self, pin: BasePin, sources: Sources) -> str:
        """Make sure that the engine has a base; gives the name under which it has it.

        Raises:
            SourceUnreachable: Neither the engine, nor this machine, nor the registry has it.
        """
        reference = base_reference(pin.kind, pin.id, pin.image, pin.digest)
        if pin.kind is BaseKind.DEBIAN and self.engine.image(str(reference)) is None:
            tree = self.trees.get(pin.id, pin.digest)
            if tree is not None:
                self.load_tree(tree, reference)
        try:
            return fetch_base(self.engine, pin, reference, sources, self.listener)
        except SourceUnreachable as error:
            if pin.kind is BaseKind.DEBIAN:
                error.hint = (
                    "the tree of this lock is neither in the engine nor in the cache folder: name a registry that has "
                    "it (--registry-mirror), or make a new one and lock again "
                    f"(`envbuilder base bootstrap {pin.id.removeprefix('debian-')}`, `envbuilder lock`)"
                )
            raise

    def load_tree(self, tree: DebianTree, reference: ImageRef) -> None:
        """Give a Debian tree to the engine under our tag."""
        self.say(f"giving {tree.id} to the engine")
        with tempfile.TemporaryDirectory(dir=self.trees.folder, prefix=".loading-") as work:
            archive = docker_archive(
                tree,
                Path(work) / "image.tar",
                epoch=EPOCH,
                labels={"io.envbuilder.base": tree.id, "org.opencontainers.image.base.digest": tree.digest},
                tags=(str(reference),),
            )
            self.engine.load(archive.path)

    def host_files(self, lock: Lock, sources: Sources) -> tuple[HostFile, ...]:
        """What the steps of a build need to reach their sources from here."""
        files = []
        if self.places.ca_bundle:
            files.append(HostFile(name="ca.pem", content=self.places.ca_bundle))
        index = self.index_address(sources)
        if index:
            files.append(HostFile(name="uv.toml", content=_uv_settings(index)))
        listing = self.sources_list(lock.base.id, sources) if lock.os_packages else ""
        if listing:
            files.append(HostFile(name="sources.list", content=listing.encode()))
        return tuple(files)

    def sources_list(self, base: str, sources: Sources) -> str:
        """Where apt looks on a base; empty for a registry image, which has its own configuration.

        Raises:
            UsageError: A Debian tree, and this host has no Debian archive configured.
        """
        system = next((system for system in self.catalog.bases if system.id == base), None)
        if system is None or system.kind is not BaseKind.DEBIAN:
            return ""
        mirror = self.mirror(sources)
        if not mirror:
            raise UsageError(
                "OS packages need a Debian archive, and this host has none in its apt configuration",
                hint="name one: --debian-mirror URL, or `sources: debian_mirror:`",
            )
        return apt_sources(mirror, system.suite, system.components)


@dataclass(frozen=True)
class _BaseApt:
    """Resolves OS packages inside the base itself."""

    composition: Composition

    def resolve(self, located: Located, packages: tuple[str, ...], spec: Spec) -> tuple[OsPackagePin, ...]:
        """See `OsResolver.resolve`."""
        image = self.composition.provide_base(located.base, spec.sources)
        places = self.composition.places
        resolver = AptResolver(run=self.composition.engine.run, ca_bundle=places.ca_bundle, proxies=places.proxies)
        return resolver.resolve(image, packages, self.composition.sources_list(located.base.id, spec.sources))


def _uv_settings(index: str) -> bytes:
    quoted = index.replace("\\", "\\\\").replace('"', '\\"')
    return f'[[index]]\nurl = "{quoted}"\ndefault = true\n'.encode()

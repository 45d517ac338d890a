"""The composition root: which adapter stands behind which port in a real run."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from envbuilder import __version__
from envbuilder.catalog.environments import BaseChoice, BaseKind, Catalog
from envbuilder.core.cache_directories import STORE
from envbuilder.core.errors import EngineUnavailable, SourceUnreachable, UsageError
from envbuilder.core.files import CHUNK
from envbuilder.core.http.credentials import with_login
from envbuilder.core.http.web import Web
from envbuilder.core.image_paths import privileged_allowed
from envbuilder.core.memory_policy import HOOK
from envbuilder.core.references import ImageRef
from envbuilder.core.uv import Uv, uv_environ
from envbuilder.core.versions import Release
from envbuilder.diagnostics.probe.script import memory_hook, probe_source
from envbuilder.image.base.deb.rollback import SeenReleases
from envbuilder.image.base.deb.signatures import KEYRING, Keyring
from envbuilder.image.base.docker_archive import docker_archive
from envbuilder.image.base.file_store import FileStore
from envbuilder.image.base.installed_pythons import installed_pythons
from envbuilder.image.base.locate import DebianBases, PythonArchives
from envbuilder.image.base.programs import Host, run_program
from envbuilder.image.base.python_archive import pack
from envbuilder.image.base.tree_store import DebianStore
from envbuilder.image.base.trees import DebianTree, PythonArchive
from envbuilder.image.base.uv_python import from_uv
from envbuilder.image.base.uv_tool import fetch_uv, find_uv, uv_version
from envbuilder.image.container_engine import ContainerEngine, Listener
from envbuilder.image.docker.engine import connect
from envbuilder.image.docker.registry_bases import RegistryBases, fetch_base
from envbuilder.image.layers.records import LayerRecord, Records
from envbuilder.image.layers.shipped_digests import load_layers
from envbuilder.image.plan.layers import LABEL_BASE, base_reference, image_reference
from envbuilder.image.render import HostFile
from envbuilder.lock.closures import Chosen
from envbuilder.lock.create import LockPorts
from envbuilder.lock.index.credentials import address_of, index_logins
from envbuilder.lock.index.fetching import length_of
from envbuilder.lock.index.uv_index import UvIndex
from envbuilder.lock.locations import Located, OsPackages, Refused
from envbuilder.lock.lock import BasePin, Lock, OwnFile, Sources, Spec, ToolName, ToolPin
from envbuilder.lock.resolve.apt import AptResolver
from envbuilder.lock.resolve.apt_mirrors import apt_sources, debian_mirror
from envbuilder.lock.resolve.shipped_closures import ClosureFolder
from envbuilder.lock.resolve.uv_resolver import UvResolver
from envbuilder.oci.registry.pull import find
from envbuilder.oci.runtime.landlock import Landlock
from envbuilder.oci.runtime.sandbox import Sandbox
from envbuilder.oci.runtime.selection import confine, guard
from envbuilder.oci.runtime.unconfined import Unconfined
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import of_tar
from envbuilder.oci.tar.writing import write
from envbuilder.wiring.assembly import PROBE, Daemonless
from envbuilder.wiring.debian_trees import EPOCH, DebianTrees, no_archive
from envbuilder.wiring.settings import KEYRING_VARIABLE, Settings

_ASKING = 12


@dataclass(frozen=True)
class Composition:
    """Adapters of one run, made when they are first needed.

    Attributes:
        settings: Folders and host settings.
        catalog: The rows and bases.
        say: Told in one sentence what is being done.
        listener: Told about transfers of the engine.
    """

    settings: Settings
    catalog: Catalog
    say: Callable[[str], None]
    listener: Listener = lambda _: None

    @cached_property
    def engine(self) -> ContainerEngine:
        """The container engine; nothing is opened before its first request."""
        return connect(self.settings.environ)

    @cached_property
    def trees(self) -> DebianStore:
        """Debian trees made before."""
        return DebianStore(self.settings.use("bases"))

    @cached_property
    def files(self) -> FileStore:
        """Interpreter archives and tools."""
        return FileStore(folder=self.settings.use("files"))

    @cached_property
    def uv(self) -> Path:
        """The uv that was installed with us."""
        return find_uv()

    def lock_ports(self, spec: Spec) -> LockPorts:
        """What `workflows.lock` reads from the world."""
        return LockPorts(
            bases={
                BaseKind.IMAGE: RegistryBases(engine=self.engine, ask=self._ask_registry),
                BaseKind.DEBIAN: DebianBases(
                    store=self.trees,
                    make=lambda system, sources: self.debian(sources).unpack(system),
                    keep=lambda tree, allowed, sources: self.debian(sources).keep(tree, allowed),
                    allowed=privileged_allowed(spec.allow),
                ),
            },
            pythons=PythonArchives(
                store=self.files,
                fetch=self._fetch_python,
                installed=lambda version, glibc: installed_pythons(version, glibc, self.host),
            ),
            shipped=self.closures,
            resolver=self.resolver(spec.sources),
            os_resolver=_OsPackages(self),
            measure=lambda chosen, python: self.lengths(chosen, python, spec.sources),
            tools=(self.hook_pin(), self.probe_pin(), self.uv_pin()),
            notice=self.say,
        )

    def lengths(self, chosen: Sequence[Chosen], python: str, sources: Sources) -> list[int]:
        """Bytes of files on the index, in their order."""
        files = self.index(sources).locate(chosen, python)
        with ThreadPoolExecutor(_ASKING) as pool:
            return list(pool.map(lambda file: length_of(file, self.web(sources)), files))

    def web(self, sources: Sources) -> Web:
        """Downloads, with the credentials of package index and mirror; connections are kept for the whole run."""
        index, mirror = self.index_address(sources), self.mirror(sources)
        if (index, mirror) not in self._webs:
            logins = with_login(index_logins(self.settings.environ, self.settings.home, index), mirror)
            self._webs[index, mirror] = Web(self.settings.environ, logins)
        return self._webs[index, mirror]

    @cached_property
    def _webs(self) -> dict[tuple[str, str], Web]:
        return {}

    @cached_property
    def closures(self) -> ClosureFolder:
        """The packages that come with the rows."""
        return ClosureFolder(folder=self.settings.matrices / "locks")

    def resolver(self, sources: Sources) -> UvResolver:
        """Resolves Python packages."""
        return UvResolver(
            uv=self.uv_settings(sources),
            guard=lambda: guard(self.settings.use("work"), allow_host=self.settings.allow_host_builds),
        )

    def uv_settings(self, sources: Sources) -> Uv:
        """Return uv with the settings of this host and of a spec."""
        return Uv(
            program=self.uv,
            cache=self.settings.use("uv"),
            environ=self.settings.environ,
            index=self.index_address(sources),
        )

    def index_address(self, sources: Sources) -> str:
        """The package index that was named, here or on this host; empty means uv's own configuration."""
        return sources.index or self.settings.index

    def index(self, sources: Sources) -> UvIndex:
        """The package index."""
        return UvIndex(uv=self.uv_settings(sources))

    @cached_property
    def store(self) -> Store:
        """Everything fetched and assembled."""
        return Store(folder=self.settings.room(STORE))

    @cached_property
    def records(self) -> Records:
        """Layers and images of the store."""
        return Records(store=self.store, shipped=self._shipped_layer)

    def _shipped_layer(self, key: str) -> LayerRecord | None:
        return self._shipped_layers.get(key)

    @cached_property
    def _shipped_layers(self) -> dict[str, LayerRecord]:
        """Digests of layers that come with the catalog."""
        path = self.settings.matrices / "layers.yaml"
        return load_layers(path.read_text(encoding="utf-8"), str(path)) if path.is_file() else {}

    @cached_property
    def daemonless(self) -> Daemonless:
        """What works without a daemon."""
        return Daemonless(self)

    @cached_property
    def confinement(self) -> Sandbox:
        """What code of packages and images is run in; found out once, when it is first needed.

        Raises:
            ToolMissing: There is no sandbox, and nobody allowed to go without.
        """
        allowed = self.settings.allow_host_builds
        chosen = confine(self.settings.use("work"), self.settings.environ.get("PATH", ""), allow_host=allowed)
        if isinstance(chosen, Unconfined):
            self.say("no sandbox works here: code of packages runs as you, as --allow-host-builds allows")
        elif isinstance(chosen, Landlock) and allowed:
            self.say("no namespaces here: build scripts of packages run as you, as --allow-host-builds allows")
        return chosen

    def _ask_registry(self, reference: ImageRef) -> str:
        with self.daemonless.registry_client() as client:
            return find(client, reference).manifest.descriptor.digest

    def probe_pin(self) -> ToolPin:
        """The probe of this version as a pin; it goes into the store."""
        digest = self.store.put(probe_source())
        return ToolPin(name=PROBE, version=__version__, sha256=digest.removeprefix("sha256:"))

    def hook_pin(self) -> ToolPin:
        """The memory hook of this version as a pin; it goes into the store."""
        digest = self.store.put(memory_hook())
        return ToolPin(name=HOOK, version=__version__, sha256=digest.removeprefix("sha256:"))

    def uv_pin(self) -> ToolPin:
        """The uv of this run as a pin; the program itself goes into the store, where a build finds it by hash."""
        digest = self.files.add(self.uv)
        return ToolPin(name=ToolName.UV, version=uv_version(self.uv, self.host), sha256=digest)

    def provide_tools(self, lock: Lock, sources: Sources) -> None:
        """Make sure that the store has the tools of a lock, which may have been made with another uv than ours.

        The probe and the memory hook come with envbuilder: they are only looked up, by `find_file`.

        Raises:
            SourceUnreachable: The index does not have that version.
            VerificationFailed: Its program is not the one of the lock.
        """
        self.files.add(self.uv)
        for pin in lock.tools:
            if pin.name == ToolName.UV and self.files.find(pin.sha256) is None:
                self.say(f"fetching {pin.name} {pin.version}, which the lock was made with")
                with tempfile.TemporaryDirectory(prefix="envbuilder-tool-") as folder:
                    program = fetch_uv(pin, uv=self.uv_settings(sources), folder=Path(folder))
                    self.files.add(program)

    def find_file(self, sha256: str) -> Path | None:
        """A file that a lock names by hash: an archive or a tool, the probe or the memory hook."""
        self.probe_pin()
        self.hook_pin()
        digest = f"sha256:{sha256}"
        return self.files.find(sha256) or (self.store.verified(digest) if self.store.has(digest) else None)

    def keep_files(self, files: Iterable[OwnFile]) -> None:
        """Take the user's own files into the store, where a build finds them by hash.

        Raises:
            VerificationFailed: One of them changed while we read it.
        """
        for file in files:
            digest = f"sha256:{file.sha256}"
            if not self.store.has(digest):
                with Path(file.source).open("rb") as source, self.store.writing(expected=digest) as copy:
                    shutil.copyfileobj(source, copy, CHUNK)

    def add_archives(self, sources: Sources) -> None:
        """Take the archives that the user names into the store."""
        for path in sources.python_archives:
            self.files.add(Path(path))

    @cached_property
    def host(self) -> Host:
        """What bases and archives are made with on this machine."""
        environ = {**uv_environ(self.settings.environ), "UV_CACHE_DIR": str(self.settings.use("uv"))}
        return Host(environ=environ, run=run_program)

    def mirror(self, sources: Sources) -> str:
        """The Debian archive to use; empty leaves it to the tool."""
        return sources.debian_mirror or debian_mirror(self.settings.apt_sources)

    def debian(self, sources: Sources, *, offline: bool = False) -> DebianTrees:
        """Debian trees, made from what can be reached."""
        return DebianTrees(
            store=self.store,
            trees=self.trees,
            mirror=self.mirror(sources).rstrip("/"),
            keyring=Keyring(
                file=Path(self.keyring(sources) or KEYRING),
                named=bool(self.keyring(sources)),
                path=self.settings.environ.get("PATH", os.defpath),
            ),
            seen=SeenReleases(self.settings.use("releases")),
            allow_expired=sources.debian_allow_expired,
            work=self.settings.use("work"),
            say=self.say,
            web=self.web(sources),
            offline=offline,
        )

    def keyring(self, sources: Sources) -> str:
        """The file with the keys of a Debian archive that was named, here or on this host; empty means Debian's."""
        named = sources.debian_keyring or self.settings.environ.get(KEYRING_VARIABLE, "")
        return str(Path(named).absolute()) if named else ""

    def pack_python(self, interpreter: Path, folder: Path) -> PythonArchive:
        """Make an interpreter archive and keep it."""
        archive = pack(interpreter, folder, epoch=EPOCH, host=self.host)
        self.files.add(archive.path)
        return archive

    def _fetch_python(self, version: Release, folder: Path) -> PythonArchive:
        self.say(f"asking uv for a managed Python {version}")
        interpreter = from_uv(version, uv=self.uv, folder=self.settings.use("pythons"), host=self.host)
        return pack(interpreter, folder, epoch=EPOCH, host=self.host)

    def provide_base(self, pin: BasePin, sources: Sources) -> str:
        """Make sure that the engine has a registry image; gives the name under which it has it.

        Raises:
            SourceUnreachable: Neither the engine nor the registry has it.
        """
        reference = base_reference(pin.kind, pin.id, pin.image, pin.digest)
        return fetch_base(self.engine, pin, reference, sources, self.listener)

    def provide_base_of(self, lock: Lock, sources: Sources) -> str:
        """Make sure that the engine has what the Dockerfile of a lock starts from: a base, with its OS packages.

        Raises:
            SourceUnreachable: Neither the engine, nor this machine, nor the registry has it.
        """
        reference = image_reference(lock)
        layers = 2 if lock.unpacks_os_packages else 1
        if lock.base.kind is BaseKind.DEBIAN and self.engine.image(str(reference)) is None:
            try:
                self._load_base(lock, reference, sources)
            except SourceUnreachable:
                # A registry that was named may have it.
                if not sources.registry_mirror:
                    raise
        return fetch_base(self.engine, lock.base, reference, sources, self.listener, layers=layers)

    def _load_base(self, lock: Lock, reference: ImageRef, sources: Sources) -> None:
        debian = self.debian(sources)
        tree = debian.provide(lock)
        self.trees.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.trees.folder, prefix=".added-") as work:
            added = Path(work) / "added.tar" if lock.unpacks_os_packages else None
            if added:
                write(debian.added(lock, of_tar(tree.path)), added)
            self.load_tree(tree, reference, added)

    def load_tree(self, tree: DebianTree, reference: ImageRef, added: Path | None = None) -> None:
        """Give a Debian tree to the engine under our tag, with the OS packages on it."""
        self.say(f"giving {tree.id} to the engine")
        with tempfile.TemporaryDirectory(dir=self.trees.folder, prefix=".loading-") as work:
            archive = docker_archive(
                tree,
                Path(work) / "image.tar",
                epoch=EPOCH,
                labels={LABEL_BASE: tree.id},
                tags=(str(reference),),
                added=added,
            )
            self.engine.load(archive.path)

    def host_files(self, lock: Lock, sources: Sources) -> tuple[HostFile, ...]:
        """What the steps of a build need to reach their sources from here."""
        files = []
        if self.settings.ca_bundle:
            files.append(HostFile(name="ca.pem", content=self.settings.ca_bundle))
        index = address_of(self.index_address(sources))
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
        mirror = self.mirror(sources) or no_archive("OS packages need", UsageError)
        return apt_sources(mirror, system.suite, system.components)


@dataclass(frozen=True)
class _OsPackages:
    """Resolves OS packages: from Debian's lists for a Debian tree, by apt inside a registry image."""

    composition: Composition

    def refusal(self, choice: BaseChoice) -> Refused | None:
        """See `OsResolver.refusal`."""
        if choice.system.kind is BaseKind.DEBIAN:
            return None
        try:
            self.composition.engine.info()
        except EngineUnavailable as error:
            reason = "installing OS packages on a registry image requires a container engine, and none answers"
            return Refused(base=choice.system.id, reason=reason, hint=error.hint)
        return None

    def resolve(self, located: Located, packages: tuple[str, ...], spec: Spec) -> OsPackages:
        """See `OsResolver.resolve`."""
        composition = self.composition
        if located.base.kind is BaseKind.DEBIAN:
            debian = composition.debian(spec.sources)
            return debian.resolve(located.choice.system, packages, located.base.packages)
        image = composition.provide_base(located.base, spec.sources)
        settings = composition.settings
        resolver = AptResolver(run=composition.engine.run, ca_bundle=settings.ca_bundle, proxies=settings.proxies)
        return OsPackages(
            pins=resolver.resolve(image, packages, composition.sources_list(located.base.id, spec.sources))
        )


def _uv_settings(index: str) -> bytes:
    quoted = index.replace("\\", "\\\\").replace('"', '\\"')
    return f'[[index]]\nurl = "{quoted}"\ndefault = true\n'.encode()

"""What works without a daemon, wired: assembling, delivering, running, bundling, registries."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from envbuilder.catalog.environments import BaseKind
from envbuilder.core.cache_directories import TREES
from envbuilder.core.errors import SourceUnreachable
from envbuilder.core.memory_policy import HOOK
from envbuilder.core.references import ImageRef
from envbuilder.image.base.provided_libraries import PACKAGES, provided
from envbuilder.image.base.registry_content import RegistryContent
from envbuilder.image.base.tree_content import TreeContent
from envbuilder.image.bundle import BundlePorts, files_of
from envbuilder.image.container_engine import Listener
from envbuilder.image.deliver import DeliverPorts
from envbuilder.image.docker.engine import default_registry
from envbuilder.image.layers.inputs import BaseContent
from envbuilder.image.layers.ports import AssemblePorts
from envbuilder.image.plan.layers import base_reference
from envbuilder.image.running.image_runner import ImageRunner
from envbuilder.lock.index.fetching import fetch_into
from envbuilder.lock.index.index import IndexFile
from envbuilder.lock.lock import BasePin, Lock, PackagePin, Sources
from envbuilder.oci.images import AssembledImage, Descriptor, ImageLayerPin
from envbuilder.oci.layout.rootfs import unpack
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.credentials import login_files
from envbuilder.oci.registry.pull import RemoteImage, fetch_blobs, find
from envbuilder.oci.registry.push import push
from envbuilder.oci.runtime.selection import choose
from envbuilder.oci.tar.members import Member, of_folder
from envbuilder.oci.transfers import PushResult
from envbuilder.wiring.debian_trees import EPOCH

if TYPE_CHECKING:
    from envbuilder.wiring.adapters import Composition

PROBE = "probe"
"""Name of the probe among the tools of a lock."""


@dataclass(frozen=True)
class Daemonless:
    """Adapters that need no container engine.

    Attributes:
        composition: Everything else.
    """

    composition: Composition

    def assemble_ports(self, sources: Sources, *, jobs: int = 0, offline: bool = False) -> AssemblePorts:
        """What `workflows.assemble` needs of the world.

        Args:
            sources: Where to fetch from.
            jobs: How many layers are made at once; 0 means one for each processor.
            offline: Refuse to download anything.
        """
        return AssemblePorts(
            store=self.composition.store,
            records=self.composition.records,
            base=lambda lock: self.base_content(lock, sources, offline=offline),
            locate=_nowhere if offline else lambda pins, python: self.composition.index(sources).locate(pins, python),
            fetch=lambda file, progress: fetch_into(
                file, self.composition.store, web=self.composition.web(sources), progress=progress
            ),
            archive=self._archive,
            probe=self._probe,
            hook=self._hook,
            provided=lambda content: provided(content.members()),
            package_of=lambda name: PACKAGES.get(name, ""),
            sandbox=lambda: self.composition.confinement,
            work=self.composition.settings.use("work"),
            jobs=jobs or os.cpu_count() or 1,
        )

    def base_content(self, lock: Lock, sources: Sources, *, offline: bool = False) -> BaseContent:
        """The base of a lock, opened when it is first needed."""
        if lock.base.kind is BaseKind.IMAGE:
            return self._registry_content(lock.base, sources)
        debian = self.composition.debian(sources, offline=offline)
        return TreeContent(lambda: debian.provide(lock), lambda members: debian.added(lock, members))

    def _registry_content(self, pin: BasePin, sources: Sources) -> RegistryContent:
        reference = base_reference(pin.kind, pin.id, pin.image, pin.digest)
        if sources.registry_mirror:
            reference = reference.at_registry(sources.registry_mirror)

        def fetch(layers: tuple[Descriptor, ...]) -> None:
            with self.registry_client() as client:
                fetch_blobs(client, reference, layers, self.composition.store, listener=self.composition.listener)

        def find_it() -> RemoteImage:
            with self.registry_client() as client:
                return find(client, reference)

        return RegistryContent(find=find_it, fetch=fetch, read=self._unpacked_members)

    def _unpacked_members(self, image: RemoteImage, layers: tuple[ImageLayerPin, ...]) -> tuple[Member, ...]:
        """A registry image as members of a folder that it is unpacked to, once."""
        whole = AssembledImage(layers=layers, config=image.config, manifest=image.manifest)
        root = self.runner.tree(whole)
        return tuple(sorted(of_folder(root, epoch=EPOCH, as_found=True), key=lambda member: member.path))

    def registry_client(self) -> RegistryClient:
        """A client for registries, with the credentials of Docker and of the containers tools."""
        environ = self.composition.settings.environ
        files = login_files(environ, self.composition.settings.home)
        return RegistryClient(environ, files, default=lambda: urlsplit(default_registry()).netloc)

    def deliver_ports(self) -> DeliverPorts:
        """What `workflows.deliver` needs of the world."""
        return DeliverPorts(
            store=self.composition.store,
            engine=lambda: self.composition.engine,
            push=self._push,
            search_path=self.composition.settings.environ.get("PATH", ""),
            sandbox=lambda: self.composition.confinement,
        )

    def _push(self, image: AssembledImage, reference: ImageRef, listener: Listener) -> PushResult:
        records = self.composition.records
        known = records.pushed(reference.repository.partition("/")[0])
        with self.registry_client() as client:
            result = push(client, image, reference, self.composition.store, mount_from=known, listener=listener)
        records.keep_push(reference.repository)
        return result

    @cached_property
    def runner(self) -> ImageRunner:
        """Runs commands in assembled images, without an engine."""
        work = self.composition.settings.use("work")
        return ImageRunner(
            sandbox=cache(lambda: choose(work, self.composition.settings.environ.get("PATH", ""))),
            lookup=self._assembled,
            unpack=unpack,
            store=self.composition.store,
            trees=self.composition.settings.room(TREES.name),
            say=self.composition.say,
        )

    def _assembled(self, name: str) -> AssembledImage | None:
        kept = self.composition.records.image(name)
        return kept.image if kept else None

    def bundle_ports(self, sources: Sources) -> BundlePorts:
        """What `workflows.bundle` needs of the world."""
        return BundlePorts(store=self.composition.store, gather=lambda lock: self._gather(lock, sources))

    def _gather(self, lock: Lock, sources: Sources) -> tuple[str, ...]:
        """Everything that a lock needs, into the store."""
        missing = [pin for pin in lock.packages if not self.composition.store.has(f"sha256:{pin.sha256}")]
        series = lock.python.version.series
        for file in self.composition.index(sources).locate(missing, series) if missing else ():
            self.composition.say(f"fetching {file.file}")
            fetch_into(file, self.composition.store, web=self.composition.web(sources))
        debs = [pin for pin in (*lock.base.packages, *lock.os_packages) if pin.sha256 and pin.file]
        self.composition.debian(sources).fetch(debs)
        if lock.python.sha256:
            self.composition.store.take(self._archive(lock))
        self._probe(lock)
        self._hook(lock)
        content = self.base_content(lock, sources)
        content.provide()
        base = [layer.blob.digest for layer in content.layers] or [self.composition.store.take(content.tar())]
        return (*files_of(lock), *base)

    def _archive(self, lock: Lock) -> Path:
        store, kept = self.composition.store, f"sha256:{lock.python.sha256}"
        found = store.verified(kept) if store.has(kept) else self.composition.find_file(lock.python.sha256)
        if found is None:
            raise SourceUnreachable(
                f"{lock.python.file} with sha256 {lock.python.sha256} is not on this machine",
                hint="name it with --python-archive FILE, or lock again: `envbuilder lock`",
            )
        return found

    def _probe(self, lock: Lock) -> bytes:
        """The probe of a lock, which may be another one than ours."""
        self.composition.probe_pin()
        return self._tool(lock, PROBE)

    def _hook(self, lock: Lock) -> bytes:
        """The memory hook of a lock; empty for a lock from before there was one."""
        self.composition.hook_pin()
        return self._tool(lock, HOOK)

    def _tool(self, lock: Lock, name: str) -> bytes:
        pin = lock.tool(name)
        if pin is None:
            return b""
        digest = f"sha256:{pin.sha256}"
        if not self.composition.store.has(digest):
            raise SourceUnreachable(
                f"the {name} of envbuilder {pin.version} that the lock names is not on this machine",
                hint="build from a bundle that holds it (--bundle FILE), or lock again: `envbuilder lock`",
            )
        return self.composition.store.read(digest)


def _nowhere(pins: Sequence[PackagePin], _python: str) -> list[IndexFile]:
    raise SourceUnreachable(
        f"{len(pins)} files are not in the cache folder, and nothing may be downloaded: "
        f"{', '.join(pin.file for pin in pins[:3])}{' …' if len(pins) > 3 else ''}",
        hint="build without --offline, or name a bundle that holds them: --bundle FILE",
    )

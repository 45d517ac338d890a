"""Adapters for building images: inputs of both engines, and destinations of images."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from envbuilder.core.cache_directories import KEPT, TREES
from envbuilder.core.errors import SourceUnreachable
from envbuilder.core.http.trust import ca_bundle
from envbuilder.core.memory_policy import HOOK
from envbuilder.core.references import ImageRef
from envbuilder.core.work_directories import work_directory
from envbuilder.diagnostics.probe.script import memory_hook, probe_source
from envbuilder.image.base.locate import keep_archive
from envbuilder.image.base.uv_tool import provide_uv
from envbuilder.image.base_contents import BaseContents
from envbuilder.image.container_engine import Listener
from envbuilder.image.deliver import Delivery
from envbuilder.image.docker.engine_bases import EngineBases
from envbuilder.image.gather import Gatherer
from envbuilder.image.host_files import host_files
from envbuilder.image.layers.ports import AssemblyContext, PackageFiles
from envbuilder.image.mirror.fallback import MirroredPackages
from envbuilder.image.mirror.file_mirror import NO_MIRROR
from envbuilder.image.pinned_files import PinnedFiles
from envbuilder.image.render import ContextFiles, CopiedFile, HostFile
from envbuilder.image.running.host_gpus import HostGpus
from envbuilder.image.running.image_runner import Following, ImageRunner
from envbuilder.lock.index.configured_indexes import address_of
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock, ToolName
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.layout.rootfs import unpack
from envbuilder.oci.registry.push import Push
from envbuilder.oci.registry.pushes import Pushes
from envbuilder.oci.runtime.selection import choose, choose_writable
from envbuilder.wiring.layer_caches import caches_to_read
from envbuilder.wiring.mirrors import configured_archives, mirrors, registry_mirror
from envbuilder.wiring.session import Session
from envbuilder.wiring.sources import (
    IndexFiles,
    debian_trees,
    downloads,
    file_mirror,
    index_address,
    keep_python_of,
    package_index,
    registry_client,
    uv_settings,
)
from envbuilder.wiring.vendor_archives import archive_publishers, vendor_archives


def pinned_files(session: Session, *, offline: bool = True) -> PinnedFiles:
    """Return the adapter that finds tools and interpreter archives.

    Offline, uv is not asked for missing interpreter archives.
    """
    own_tools = {ToolName.PROBE: probe_source(), HOOK: memory_hook()}
    found = PinnedFiles(store=session.store, files=session.files, own_tools=own_tools)
    return found if offline else replace(found, fetch=partial(keep_python_of, session))


def add_archives(session: Session, sources: Sources) -> None:
    """Copy the interpreter archives of the command line, the spec and the settings into the cache."""
    for path in (*map(Path, sources.python_archives), *configured_archives(session.settings)):
        keep_archive(session.files, path)


def add_files(session: Session, lock: Lock, sources: Sources, *, offline: bool = False) -> None:
    """Add named interpreter archives, and the files of a lock that only this machine or a mirror has.

    The latter are its interpreter archive, own tools and own files.
    """
    add_archives(session, sources)
    mirror = file_mirror(session, sources, offline=offline)
    if mirror is NO_MIRROR:
        return
    for file in pinned_files(session).missing(lock):
        try:
            mirror.fetch_instead(SourceUnreachable(f"{file.file} is not on this machine"), file)
        except SourceUnreachable as error:  # The build says what it is needed for.
            session.progress(error.message)


def package_files(session: Session, sources: Sources, *, offline: bool = False) -> PackageFiles:
    """Return the adapter that fetches Python packages."""
    index = IndexFiles(
        index=package_index(session.settings, sources),
        web=downloads(session, sources),
        store=session.store,
        offline=offline,
    )
    return MirroredPackages(packages=index, mirror=file_mirror(session, sources, offline=offline))


def _base_contents(session: Session, sources: Sources, *, offline: bool = False) -> BaseContents:
    """Return the adapter that opens the bases of locks."""
    return BaseContents(
        debian=debian_trees(session, sources, offline=offline),
        registry_mirror=registry_mirror(session.settings, sources),
        connect=registry_client(session.settings),
        store=session.store,
        runner=image_runner(session),
        listener=session.listener,
    )


def image_runner(session: Session) -> ImageRunner:
    """Return the runner of commands in assembled images, without an engine."""
    work, programs = session.settings.use("work"), session.settings.environ.get("PATH", "")

    def lookup(name: str) -> AssembledImage | None:
        kept = session.records.image(name)
        return kept.image if kept else None

    return ImageRunner(
        sandbox=cache(lambda: choose(work, programs)),
        following=Following(
            chosen=lambda changes: choose_writable(work, programs, changes),
            work=work,
            kept=lambda: session.settings.use(KEPT),
        ),
        lookup=lookup,
        unpack=unpack,
        store=session.store,
        trees=session.settings.room(TREES.name),
        gpus=HostGpus(root=Path("/"), search_path=programs),
        progress=session.progress,
    )


def assembly_context(session: Session, sources: Sources, *, jobs: int = 0, offline: bool = False) -> AssemblyContext:
    """Return the context for assembling images.

    At most `jobs` layers are made at once; 0 means one for each processor.
    """
    return AssemblyContext(
        store=session.store,
        records=session.records,
        bases=_base_contents(session, sources, offline=offline),
        packages=package_files(session, sources, offline=offline),
        files=pinned_files(session, offline=offline),
        archives=vendor_archives(session, sources, offline=offline),
        sandbox=lambda: session.sandbox,
        work=session.settings.use("work"),
        jobs=jobs or os.cpu_count() or 1,
    )


@dataclass(frozen=True, slots=True)
class Registries:
    """Registries that take images, each with the layers that it has from here."""

    session: Session

    @contextmanager
    def pushes(self, names: Sequence[str], sources: Sources, listener: Listener) -> Iterator[Pushes]:
        """See `ImageRegistry.pushes`."""
        records, references = self.session.records, [ImageRef.parse(name) for name in names]
        caches = caches_to_read(self.session.settings, sources)
        with registry_client(self.session.settings)() as client:

            def begin(reference: ImageRef) -> Push:
                known = (*caches, *records.pushed(reference.repository.partition("/")[0]))
                return Push(client, reference, self.session.store, mount_from=known, listener=listener)

            yield Pushes(references, begin)
        for reference in references:
            records.keep_push(reference.repository)


def delivery(session: Session) -> Delivery:
    """Return the delivery of assembled images to their destinations."""
    return Delivery(
        store=session.store,
        engine=session.engine,
        registry=Registries(session),
        search_path=session.settings.environ.get("PATH", ""),
        sandbox=lambda: session.sandbox,
    )


def gatherer(session: Session, sources: Sources, *, offline: bool = False) -> Gatherer:
    """Return the adapter that fetches every file of a lock into the store; `offline` refuses to download anything."""
    return Gatherer(
        store=session.store,
        files=pinned_files(session, offline=offline),
        packages=package_files(session, sources, offline=offline),
        debian=debian_trees(session, sources, offline=offline),
        archives=archive_publishers(session, sources, offline=offline),
        bases=_base_contents(session, sources, offline=offline),
        progress=session.progress,
        listener=session.listener,
    )


def engine_bases(session: Session, sources: Sources) -> EngineBases:
    """Return the adapter that provides the container engine with the bases of locks."""
    return EngineBases(
        engine=session.engine,
        debian=debian_trees(session, sources),
        registry_mirror=registry_mirror(session.settings, sources),
        listener=session.listener,
        progress=session.progress,
    )


@dataclass(frozen=True, slots=True)
class DockerIngredients:
    """See `DockerfileInputs`."""

    session: Session

    def context_files(
        self, lock: Lock, sources: Sources, *, host_settings: bool = True, libraries: bool = True
    ) -> ContextFiles:
        """See `DockerfileInputs.context_files`.

        Args:
            lock: The lock.
            sources: Sources of the files.
            host_settings: Include the settings of this host.
            libraries: Include the vendor libraries; otherwise their archives are not fetched.

        Raises:
            SourceUnreachable: The index does not have the lock's version of uv, or an archive is unavailable.
            VerificationFailed: A file does not match the lock.
        """
        with work_directory("tool") as folder:
            provide_uv(
                lock,
                self.session.files,
                uv=uv_settings(self.session.settings, sources),
                folder=folder,
                progress=self.session.progress,
            )
        return ContextFiles(
            find=pinned_files(self.session).find,
            host=self._host_files(lock, sources) if host_settings else (),
            libraries=self._libraries(lock, sources) if libraries else (),
        )

    def provide_base_of(self, lock: Lock, sources: Sources) -> str:
        """See `DockerfileInputs.provide_base_of`."""
        return engine_bases(self.session, sources).provide(lock)

    def _host_files(self, lock: Lock, sources: Sources) -> tuple[HostFile, ...]:
        settings, kind = self.session.settings, lock.base.kind
        return host_files(
            lock,
            self.session.catalog.bases,
            ca_bundle=ca_bundle(settings.environ),
            index=address_of(index_address(settings, sources)),
            mirrors=mirrors(settings, sources, kind) if kind.is_tree else (),
        )

    def _libraries(self, lock: Lock, sources: Sources) -> tuple[CopiedFile, ...]:
        archives = vendor_archives(self.session, sources)
        return tuple(
            CopiedFile(path=f"libraries/{pin.id}/{path}", source=self.session.store.verified(file.digest))
            for pin in lock.archives
            for path, file in archives.libraries(pin).items()
        )

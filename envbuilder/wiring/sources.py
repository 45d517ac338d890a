"""Package index, package archives, registries and interpreters, as configured by command line, spec and this host."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

from envbuilder.core.errors import EnvbuilderError, SourceUnreachable
from envbuilder.core.http.web import Web
from envbuilder.core.uv import Uv, uv_environ
from envbuilder.core.uv_process import TIME_LIMIT
from envbuilder.core.versions import Release
from envbuilder.core.work_directories import work_directory
from envbuilder.image.base.deb.archive import DebArchive
from envbuilder.image.base.deb.distributions import DISTRIBUTIONS, DebDistribution
from envbuilder.image.base.deb.rollback import SeenReleases
from envbuilder.image.base.deb.signatures import Keyring
from envbuilder.image.base.deb_trees import DebTrees
from envbuilder.image.base.locate import keep_archive
from envbuilder.image.base.programs import BaseHost, run_program
from envbuilder.image.base.python_archive import pack
from envbuilder.image.base.python_survey import PythonArchive
from envbuilder.image.base.uv_tool import find_uv, from_uv
from envbuilder.image.docker.engine import default_registry
from envbuilder.image.mirror.file_mirror import NO_MIRROR, FileMirror, RegistryMirror
from envbuilder.lock.closures import Chosen, Measure
from envbuilder.lock.index.fetching import fetch_into, length_of
from envbuilder.lock.index.index import IndexFile
from envbuilder.lock.index.uv_index import UvIndex
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock, PackagePin
from envbuilder.lock.resolve.uv_resolver import UvResolver
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.credentials import login_files
from envbuilder.oci.runtime.selection import guard
from envbuilder.oci.store import Store
from envbuilder.wiring.mirrors import keyring, mirror_repository, mirrors, places_of_publishers
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import Settings

_CONNECTIONS = 12


def index_address(settings: Settings, sources: Sources) -> str:
    """Return the package index of the command line, the spec or this host; empty means uv's own configuration."""
    return sources.index or settings.index


def uv_settings(settings: Settings, sources: Sources) -> Uv:
    """Return uv with the settings of this host and of a spec."""
    return Uv(
        program=find_uv(),
        cache=settings.use("uv"),
        environ=settings.environ,
        index=index_address(settings, sources),
    )


def package_index(settings: Settings, sources: Sources) -> UvIndex:
    """Return the package index."""
    return UvIndex(uv=uv_settings(settings, sources))


def package_resolver(settings: Settings, sources: Sources, *, seconds: float = TIME_LIMIT) -> UvResolver:
    """Return the resolver of Python packages, with the time for one resolution."""
    return UvResolver(
        uv=uv_settings(settings, sources),
        guard=lambda: guard(settings.use("work"), allow_host=settings.allow_host_builds),
        seconds=seconds,
    )


def downloads(session: Session, sources: Sources) -> Web:
    """Return the client for downloads, with the credentials of the package index and of the package archives."""
    settings = session.settings
    archives = (mirrors(settings, sources, kind) for kind in DISTRIBUTIONS)
    return session.web(index_address(settings, sources), tuple(chain.from_iterable(archives)))


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFiles:
    """Files of Python packages on an index.

    Attributes:
        offline: Refuse to download anything.
    """

    index: UvIndex
    web: Web
    store: Store
    offline: bool

    def locate(self, pins: Sequence[PackagePin], python: str) -> Sequence[IndexFile]:
        """See `PackageFiles.locate`.

        Raises:
            SourceUnreachable: The index does not have them, or downloads are not allowed.
        """
        if self.offline:
            raise SourceUnreachable(
                f"{len(pins)} files are not in the cache directory, and downloads are disabled: "
                f"{', '.join(pin.file for pin in pins[:3])}{' …' if len(pins) > 3 else ''}",
                hint="build without --offline, or name a bundle that holds them: --bundle FILE",
            )
        return self.index.locate(pins, python)

    def fetch(self, file: IndexFile, progress: Callable[[int, int], None]) -> None:
        """See `PackageFiles.fetch`."""
        fetch_into(file, self.store, web=self.web, progress=progress)


def package_sizes(session: Session, sources: Sources) -> Measure:
    """Return a function that asks the package index for sizes."""
    index, web = package_index(session.settings, sources), downloads(session, sources)

    def measure(chosen: Sequence[Chosen], python: str) -> list[int]:
        files = index.locate(chosen, python)
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            return list(pool.map(lambda file: length_of(file, web), files))

    return measure


def publisher_places(session: Session, sources: Sources) -> dict[str, str]:
    """Return the places of publishers, by name; see `places_of_publishers`."""
    return places_of_publishers(session.settings, session.catalog.archives, sources)


def accepts_nvidia_eula(settings: Settings, sources: Sources) -> bool:
    """Return True if the command line, the spec or this host accepts NVIDIA's license."""
    return sources.accept_nvidia_eula or settings.accepts_nvidia_eula


def host_programs(settings: Settings) -> BaseHost:
    """Return the adapter that runs programs of this host."""
    environ = {**uv_environ(settings.environ), "UV_CACHE_DIR": str(settings.use("uv"))}
    return BaseHost(environ=environ, run=run_program)


def debian_trees(session: Session, sources: Sources, *, offline: bool = False) -> DebTrees:
    """Return the adapter that makes trees of .deb packages.

    Offline, it refuses to download anything.
    """
    return DebTrees(
        store=session.store,
        trees=session.trees,
        archives={kind: _archive(session, sources, each) for kind, each in DISTRIBUTIONS.items()},
        work=session.settings.use("work"),
        progress=session.progress,
        listener=session.listener,
        offline=offline,
        mirror=file_mirror(session, sources, offline=offline),
    )


def file_mirror(session: Session, sources: Sources, *, offline: bool = False) -> FileMirror:
    """Return the mirror of the command line, the spec or this host; offline, and without one, that has nothing.

    Raises:
        UsageError: `ENVBUILDER_MIRROR` is not a repository.
    """
    repository = "" if offline else mirror_repository(session.settings, sources)
    if not repository:
        return NO_MIRROR

    @cache
    def opened() -> RegistryClient:
        session.progress(f"asking the mirror {repository} for files that their sources do not deliver")
        connections = registry_client(session.settings)()
        session.settings.on_close(connections.close)
        return connections

    opening = threading.Lock()

    def client() -> RegistryClient:
        with opening:
            return opened()

    return RegistryMirror(repository=repository, client=client, store=session.store)


def _archive(session: Session, sources: Sources, distribution: DebDistribution) -> DebArchive:
    settings, kind = session.settings, distribution.kind
    return DebArchive(
        mirrors=mirrors(settings, sources, kind),
        distribution=distribution,
        store=session.store,
        web=downloads(session, sources),
        seen=SeenReleases(settings.use("releases")),
        keyring=Keyring(
            named=keyring(settings, sources, kind),
            distribution=distribution,
            path=settings.environ.get("PATH", os.defpath),
        ),
        allow_expired=sources.archives(kind).allow_expired,
        progress=session.progress,
    )


def registry_client(settings: Settings) -> Callable[[], RegistryClient]:
    """Return the function that opens registry clients, with the credentials of Docker and of the containers tools."""
    files = login_files(settings.environ, settings.home)
    return lambda: RegistryClient(settings.environ, files, default=_default_host)


@cache
def _default_host() -> str:
    return urlsplit(default_registry()).netloc


def fetch_python(session: Session, version: Release, folder: Path) -> PythonArchive:
    """Pack uv's managed interpreter of a version into a directory; errors as in `from_uv`."""
    session.progress(f"asking uv for a managed Python {version}")
    host = host_programs(session.settings)
    interpreter = from_uv(version, uv=find_uv(), folder=session.settings.use("pythons"), host=host)
    return pack(interpreter, folder, host=host)


def keep_python_of(session: Session, lock: Lock) -> None:
    """Add uv's managed interpreter of the version of a lock to the cache; do nothing if uv cannot provide it."""
    with work_directory("python") as folder:
        try:
            keep_archive(session.files, fetch_python(session, lock.python.version, folder).path)
        except EnvbuilderError as error:
            session.progress(error.message.splitlines()[0])

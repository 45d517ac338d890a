"""Shared objects of the functions of one command: settings, catalog, callbacks, and one adapter of each kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, reduce

from envbuilder.catalog.environments import Catalog
from envbuilder.core.cache_directories import KEPT, STORE
from envbuilder.core.http.credentials import with_login
from envbuilder.core.http.web import Web
from envbuilder.image.base.file_store import FileStore
from envbuilder.image.base.tree_store import TreeStore
from envbuilder.image.container_engine import ContainerEngine, Listener
from envbuilder.image.docker.engine import connect
from envbuilder.image.layers.records import Records
from envbuilder.image.layers.shipped_digests import ShippedLayers
from envbuilder.lock.index.configured_indexes import index_logins
from envbuilder.lock.resolve.resolver import RememberedResolutions
from envbuilder.oci.runtime.landlock import Landlock
from envbuilder.oci.runtime.sandbox import Sandbox
from envbuilder.oci.runtime.selection import confine
from envbuilder.oci.runtime.unconfined import Unconfined
from envbuilder.oci.store import Store
from envbuilder.wiring.settings import Settings


@dataclass(frozen=True)
class Session:
    """One run of a command; adapters are made on first use.

    Attributes:
        progress: Progress callback; receives one line of text.
        resolutions: Resolutions of packages that were made before.
    """

    settings: Settings
    catalog: Catalog
    progress: Callable[[str], None]
    listener: Listener = lambda _: None
    resolutions: RememberedResolutions = field(default_factory=RememberedResolutions)

    @cached_property
    def engine(self) -> ContainerEngine:
        """The container engine; the first request connects to it."""
        return connect(self.settings.environ, kept=lambda: self.settings.use(KEPT))

    @cached_property
    def sandbox(self) -> Sandbox:
        """The sandbox for code of packages and images, chosen on first use.

        Raises:
            ToolMissing: None works on this machine, and code may not run without one.
        """
        settings = self.settings
        allowed = settings.allow_host_builds
        chosen = confine(settings.use("work"), settings.environ.get("PATH", ""), allow_host=allowed)
        if isinstance(chosen, Unconfined):
            self.progress("no sandbox works here: code of packages runs as you, as --allow-host-builds allows")
        elif isinstance(chosen, Landlock) and allowed:
            self.progress("no namespaces here: build scripts of packages run as you, as --allow-host-builds allows")
        return chosen

    @cached_property
    def store(self) -> Store:
        """The store of fetched and assembled files."""
        return Store(folder=self.settings.room(STORE))

    @cached_property
    def records(self) -> Records:
        """Layers and images of the store."""
        shipped = ShippedLayers(self.settings.matrices / "layers.yaml")
        return Records(store=self.store, shipped=shipped.find)

    @cached_property
    def trees(self) -> TreeStore:
        """Debian trees of the cache."""
        return TreeStore(self.settings.use("bases"))

    @cached_property
    def files(self) -> FileStore:
        """Interpreter archives and programs of the cache."""
        return FileStore(folder=self.settings.use("files"))

    def web(self, index: str, mirrors: tuple[str, ...]) -> Web:
        """Return the client for downloads, with the credentials of a package index and of package archives.

        Connections are kept for the whole run.
        """
        if (index, mirrors) not in self._webs:
            logins = reduce(with_login, mirrors, index_logins(self.settings.environ, self.settings.home, index))
            self._webs[index, mirrors] = Web(self.settings.environ, logins)
        return self._webs[index, mirrors]

    @cached_property
    def _webs(self) -> dict[tuple[str, tuple[str, ...]], Web]:
        return {}

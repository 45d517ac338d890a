"""Adapters with which `doctor` examines the surroundings of this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from envbuilder.catalog.environments import BaseKind
from envbuilder.core.errors import EngineUnavailable, EnvbuilderError
from envbuilder.core.http.trust import ca_variable
from envbuilder.core.work_directories import work_directory
from envbuilder.diagnostics.host.environment import CaBundle, Silence, SourceKind
from envbuilder.diagnostics.host.reachability import answer, is_proxied
from envbuilder.diagnostics.host_environment import Address, HostEnvironmentPorts, masked_proxy
from envbuilder.image.base.uv_tool import find_uv
from envbuilder.image.builds import EngineInfo
from envbuilder.image.docker.engine import connect, default_registry, is_there
from envbuilder.lock.index.configured_indexes import address_of, configured_index, default_index
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.oci.runtime.selection import choose
from envbuilder.wiring.configuration import DEBIAN_MIRROR
from envbuilder.wiring.mirrors import mirrors
from envbuilder.wiring.settings import Settings

ENGINE_SECONDS = 1
_UV_SECONDS = 30.0
"""Longer than the limit of a source: a late uv makes its index late, not unknown."""
_HOOK = "nvidia-container-runtime-hook"
_CDI = ("/etc/cdi", "/var/run/cdi")


def host_environment(settings: Settings) -> HostEnvironmentPorts:
    """Return the ports that `doctor` uses to examine the surroundings of this machine."""
    return HostEnvironmentPorts(
        services=LocalServices(settings),
        sources=ConfiguredSources(settings),
        ca_bundles=_ca_bundles(settings.environ),
        proxies=tuple((name, _shown(name, value)) for name, value in settings.proxies),
    )


@dataclass(frozen=True, slots=True)
class LocalServices:
    """Engine, sandbox and toolkit of this machine."""

    settings: Settings

    def engine(self) -> EngineInfo:
        """See `HostServices.engine`."""
        if not is_there(self.settings.environ):
            # Without the SDK, whose import takes a tenth of the available time.
            hint = "install one and start it, or set DOCKER_HOST to where one listens"
            raise EngineUnavailable("no container engine is here", hint=hint)
        return connect(self.settings.environ, timeout=ENGINE_SECONDS).info()

    def sandbox(self) -> str:
        """See `HostServices.sandbox`."""
        with work_directory("doctor") as folder:
            way = choose(folder, self.settings.environ.get("PATH", ""))
        return f"{way.name} {way.version}".rstrip()

    def has_toolkit(self) -> bool:
        """Return True if Docker finds the hook for `--gpus` on its PATH, or CDI files (reported from 28.2 on)."""
        if shutil.which(_HOOK, path=f"{self.settings.environ.get('PATH', '')}{os.pathsep}/usr/bin"):
            return True
        return any("nvidia" in file.name for folder in _CDI for file in Path(folder).glob("*"))


@dataclass(frozen=True, slots=True)
class ConfiguredSources:
    """Package index, Debian archive and registry that this machine is configured to use."""

    settings: Settings

    def ask(self, url: str, limit: float) -> int | Silence | None:
        """See `SourceAccess.ask`."""
        return answer(url, self.settings.environ, limit)

    def is_proxied(self, url: str) -> bool:
        """See `SourceAccess.is_proxied`."""
        return is_proxied(url, self.settings.environ)

    def address(self, kind: SourceKind, engine: EngineInfo | None) -> Address | None:
        """See `SourceAccess.address`."""
        match kind:
            case SourceKind.REGISTRY:
                # An engine that is late has not sent its mirrors; one that is unavailable uses none.
                return _registry(engine) if engine or is_there(self.settings.environ) else None
            case SourceKind.INDEX:
                return self._index()
            case SourceKind.DEBIAN:
                return self._debian()

    def _debian(self) -> Address | None:
        named = mirrors(self.settings, Sources(), BaseKind.DEBIAN)
        given = self.settings.given(DEBIAN_MIRROR)
        chosen = given.origin if given else "apt's sources"
        return Address(url=f"{named[0]}/", chosen=chosen, configured=True) if named else None

    def _index(self) -> Address | None:
        if self.settings.index:
            return Address(url=address_of(self.settings.index), chosen=self.settings.index_origin, configured=True)
        url, file = configured_index(self.settings.environ, self.settings.home)
        if url:
            return Address(url=url, chosen=file, configured=True)
        try:
            own = default_index(find_uv(), timeout=_UV_SECONDS)
        except EnvbuilderError:
            return None
        return Address(url=own, chosen="uv's default", configured=False) if own else None


def _registry(engine: EngineInfo | None) -> Address:
    """Return the address that Docker pulls images from; without it a registry has to be named for each build."""
    if engine and engine.mirrors:
        return Address(url=f"{engine.mirrors[0].rstrip('/')}/v2/", chosen="Docker's mirror", configured=True)
    parts = urlsplit(default_registry())
    return Address(url=f"{parts.scheme}://{parts.netloc}/v2/", chosen="Docker's default", configured=False)


def _ca_bundles(environ: Mapping[str, str]) -> tuple[CaBundle, ...]:
    """Return the CA bundle of the variable that is used; empty if none is set."""
    name = ca_variable(environ)
    return (CaBundle(variable=name, path=environ[name], readable=os.access(environ[name], os.R_OK)),) if name else ()


def _shown(name: str, value: str) -> str:
    return value if name.upper() == "NO_PROXY" else masked_proxy(value)

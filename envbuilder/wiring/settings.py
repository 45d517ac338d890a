"""Settings of one run: data directories, the cache, and the configuration of this host.

No other module reads the environment of the process.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import envbuilder
from envbuilder.core.cache_directories import check_owner, room_of, use_room
from envbuilder.core.errors import UsageError

NOWHERE = Path("/nonexistent")
"""Home of users without one, as in Debian's base-passwd."""
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "FTP_PROXY")
HOST_BUILDS = "ENVBUILDER_ALLOW_HOST_BUILDS"
ACCEPT_VARIABLE = "ENVBUILDER_ACCEPT_NVIDIA_EULA"
PUBLISHERS_VARIABLE = "ENVBUILDER_PUBLISHERS"
OSV_VARIABLE = "ENVBUILDER_OSV"
_TRUE = ("1", "true", "yes")
_INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Directories and host settings of one run.

    Attributes:
        matrices: Directory of the catalog.
        templates: Directory of the Jinja templates.
        cache_path: Path of the cache directory; below `NOWHERE` if none is configured.
        environ: Environment of the process.
        home: Home directory of this user; `NOWHERE` for none.
        packaged: Whether the catalog is that of the installed package, and not one that `ENVBUILDER_MATRICES` names.
        allow_host_builds: Whether code of packages may run without a sandbox.
        on_close: Registers a function that is called when the command ends.
    """

    matrices: Path
    templates: Path
    cache_path: Path
    environ: Mapping[str, str]
    home: Path = NOWHERE
    packaged: bool = False
    allow_host_builds: bool = False
    on_close: Callable[[Callable[[], object]], object] = lambda _: None

    @property
    def cache(self) -> Path:
        """The cache directory, which need not exist.

        Raises:
            UsageError: None is configured; or other users could have changed its content.
        """
        if self.cache_path.is_relative_to(NOWHERE):
            raise UsageError(
                "there is no default cache directory: this user has no home directory",
                hint="set one: `export ENVBUILDER_CACHE=DIR`",
            )
        check_owner(self.cache_path)
        return self.cache_path

    def room(self, name: str) -> Path:
        """Return a directory of the cache; errors as in `use`, which also protects it from pruning."""
        return room_of(self.cache, name)

    @property
    def proxies(self) -> tuple[tuple[str, str], ...]:
        """Proxy variables of this host in both spellings, sorted by name."""
        names = (*_PROXIES, *(name.lower() for name in _PROXIES))
        return tuple(sorted((name, self.environ[name]) for name in names if self.environ.get(name)))

    @property
    def accepts_nvidia_eula(self) -> bool:
        """Whether `ENVBUILDER_ACCEPT_NVIDIA_EULA` accepts NVIDIA's license."""
        return self.environ.get(ACCEPT_VARIABLE, "").lower() in _TRUE

    @property
    def vulnerability_databases(self) -> tuple[str, ...]:
        """Paths and addresses of the vulnerability databases that `ENVBUILDER_OSV` names, in its order."""
        return tuple(self.environ.get(OSV_VARIABLE, "").split())

    @property
    def index(self) -> str:
        """The package index of this host, as `URL` or `NAME=URL`; empty when it uses uv's default."""
        return self.environ.get(self.index_variable, "")

    @property
    def index_variable(self) -> str:
        """The variable that names the package index; empty if none does."""
        return next((name for name in _INDEX_VARIABLES if self.environ.get(name)), "")

    def use(self, name: str) -> Path:
        """Return a directory of the cache that is protected from pruning until the command ends.

        Args:
            name: Of one of `ROOMS`.

        Raises:
            UsageError: There is no cache, it cannot be made, or other users could have changed its content.
            LocksUnsupported: The file system of the cache has no locks.
        """
        path, handle = use_room(self.cache, name)
        if handle is not None:
            self.on_close(lambda: os.close(handle))
        return path

    @property
    def apt_sources(self) -> tuple[str, ...]:
        """Content of this host's apt configuration, in apt's order; empty if there is none."""
        folder = Path("/etc/apt")
        files = [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]
        return tuple(
            file.read_text(encoding="utf-8", errors="replace")
            for file in files
            if file.is_file() and file.suffix in {".list", ".sources"}
        )


def settings(
    *, allow_host_builds: bool = False, on_close: Callable[[Callable[[], object]], object] = lambda _: None
) -> Settings:
    """Return the settings of this process.

    `ENVBUILDER_MATRICES` names another catalog, `ENVBUILDER_CACHE` another cache directory.

    Args:
        allow_host_builds: Allow code of packages to run without a sandbox, as `ENVBUILDER_ALLOW_HOST_BUILDS` does.
        on_close: Registers a function that is called when the command ends.
    """
    environ = dict(os.environ)
    package = Path(envbuilder.__file__).parent
    data = package / "_data"
    root = data if data.is_dir() else package.parent
    home = _home(environ)
    kept = Path(environ.get("XDG_CACHE_HOME", ""))
    return Settings(
        matrices=Path(environ.get("ENVBUILDER_MATRICES") or root / "matrices"),
        templates=root / "templates",
        # A relative path is to be ignored: https://specifications.freedesktop.org/basedir-spec/latest/
        cache_path=Path(
            environ.get("ENVBUILDER_CACHE") or (kept if kept.is_absolute() else home / ".cache") / "envbuilder"
        ),
        environ=environ,
        home=home,
        packaged=root == data and not environ.get("ENVBUILDER_MATRICES"),
        allow_host_builds=allow_host_builds or environ.get(HOST_BUILDS, "").lower() in _TRUE,
        on_close=on_close,
    )


def _home(environ: Mapping[str, str]) -> Path:
    """Return the home directory of this user, who may be missing from the list of users."""
    named = Path(environ.get("HOME", ""))
    if named.is_absolute():
        return named
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir or NOWHERE)
    except KeyError:
        return NOWHERE

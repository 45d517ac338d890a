"""Settings of one run: data directories, the cache, and the configuration of this host.

No other module reads the environment of the process.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import envbuilder
from envbuilder.core.cache_directories import check_owner, room_of, use_room
from envbuilder.core.errors import UsageError
from envbuilder.core.files import read_text
from envbuilder.wiring.configuration import (
    ACCEPT_NVIDIA_EULA,
    ALLOW_HOST_BUILDS,
    CACHE,
    INDEX,
    MATRICES,
    OSV,
    Configuration,
    Given,
    Setting,
    of_variable,
)

NOWHERE = Path("/nonexistent")
"""Home of users without one, as in Debian's base-passwd."""
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "FTP_PROXY")
CONFIGURATION_VARIABLE = "ENVBUILDER_CONFIG"
_INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Directories and host settings of one run.

    Attributes:
        cache_path: Path of the cache directory; below `NOWHERE` if none is configured.
        home: Home directory of this user; `NOWHERE` for none.
        packaged: Whether the catalog is that of the installed package, and no other one is configured.
        on_close: Registers a function that is called when the command ends.
    """

    matrices: Path
    templates: Path
    cache_path: Path
    environ: Mapping[str, str]
    configuration: Configuration = field(default_factory=Configuration)
    home: Path = NOWHERE
    packaged: bool = False
    allow_host_builds: bool = False
    on_close: Callable[[Callable[[], object]], object] = lambda _: None

    def given(self, setting: Setting) -> Given | None:
        """Return the value of a setting: of its variable, else of the configuration file; None if neither has one.

        Raises:
            UsageError: The variable has a value that the setting does not allow.
        """
        return _given(setting, self.environ, self.configuration)

    def words(self, setting: Setting) -> tuple[str, ...]:
        """Return the words of a setting; empty if it has no value. Errors as in `given`."""
        given = self.given(setting)
        return given.words if given else ()

    def accepts(self, setting: Setting) -> bool:
        """Return True if a flag is set. Errors as in `given`."""
        given = self.given(setting)
        return bool(given and given.is_true)

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
        """Whether this user accepts NVIDIA's license for every command."""
        return self.accepts(ACCEPT_NVIDIA_EULA)

    @property
    def vulnerability_databases(self) -> tuple[str, ...]:
        """Paths and addresses of the configured vulnerability databases, in their order."""
        given = self.given(OSV)
        if given is None:
            return ()
        return tuple(word if "://" in word else str(given.folder / word) for word in given.words)

    @property
    def index(self) -> str:
        """The package index of this host, as `URL` or `NAME=URL`; empty when it uses uv's default."""
        return self._index[0]

    @property
    def index_origin(self) -> str:
        """Origin of the package index: a variable, or a line of the configuration file; empty if not configured."""
        return self._index[1]

    @property
    def _index(self) -> tuple[str, str]:
        for name in (INDEX.variable, *_INDEX_VARIABLES):
            if self.environ.get(name):
                return self.environ[name], name
        given = self.given(INDEX)
        return (given.words[0], given.origin) if given else ("", "")

    def use(self, name: str) -> Path:
        """Return a directory of the cache that is protected from pruning until the command ends.

        Raises:
            UsageError: There is no cache, it cannot be made, or other users could have changed its content.
            LocksUnsupported: The file system of the cache has no locks.
        """
        path, handle = use_room(self.cache, name)
        if handle is not None:
            self.on_close(lambda: os.close(handle))
        return path

    @contextmanager
    def work_folder(self, prefix: str) -> Iterator[Path]:
        """Yield a temporary directory in the cache; it is removed when the block ends. Errors as in `use`."""
        # Most commands need none, and start faster without it.
        from tempfile import TemporaryDirectory  # noqa: PLC0415

        work = self.use("work")
        work.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=work, prefix=f"{prefix}-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)

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

    `on_close` registers a function that is called when the command ends.

    Raises:
        InvalidInput: The configuration file is invalid.
        UsageError: A variable has a value that its setting does not allow, or the named configuration file is missing.
    """
    environ = environment()
    package = Path(envbuilder.__file__).parent
    data = package / "_data"
    root = data if data.is_dir() else package.parent
    home = _home(environ)
    configuration = _configuration(environ, home)
    matrices = _given(MATRICES, environ, configuration)
    cache = _given(CACHE, environ, configuration)
    allowed = _given(ALLOW_HOST_BUILDS, environ, configuration)
    return Settings(
        matrices=matrices.path if matrices else root / "matrices",
        templates=root / "templates",
        cache_path=cache.path if cache else _xdg("XDG_CACHE_HOME", environ, home / ".cache") / "envbuilder",
        environ=environ,
        configuration=configuration,
        home=home,
        packaged=root == data and not matrices,
        allow_host_builds=allow_host_builds or bool(allowed and allowed.is_true),
        on_close=on_close,
    )


def _given(setting: Setting, environ: Mapping[str, str], configuration: Configuration) -> Given | None:
    text = environ.get(setting.variable)
    if not text:
        return configuration.settings.get(setting.key)
    given = of_variable(setting, text)
    if problem := setting.problem(given.words):
        raise UsageError(f"{setting.variable}: {problem}", hint=f"`unset {setting.variable}`, or change it")
    return given


def configuration_file(environ: Mapping[str, str], home: Path) -> Path:
    """Return the path of the configuration file, which need not exist."""
    named = environ.get(CONFIGURATION_VARIABLE)
    return Path(named) if named else _xdg("XDG_CONFIG_HOME", environ, home / ".config") / "envbuilder" / "config.toml"


def _configuration(environ: Mapping[str, str], home: Path) -> Configuration:
    file = configuration_file(environ, home)
    if file == Path(os.devnull):
        return Configuration()
    if file.exists():
        # The parsers of TOML and of values take as long to import as all the rest of this module.
        from envbuilder.wiring.configuration_file import parse  # noqa: PLC0415

        return parse(read_text(file), file)
    if environ.get(CONFIGURATION_VARIABLE):
        raise UsageError(
            f"{CONFIGURATION_VARIABLE}: no such file: {file}", hint=f"`unset {CONFIGURATION_VARIABLE}`, or change it"
        )
    return Configuration()


def _xdg(name: str, environ: Mapping[str, str], default: Path) -> Path:
    """Return a directory of the XDG specification, by which a relative path is to be ignored.

    Source: https://specifications.freedesktop.org/basedir-spec/latest/
    """
    named = Path(environ.get(name, ""))
    return named if named.is_absolute() else default


def environment() -> Mapping[str, str]:
    """Return the variables of this process, for messages about settings that are invalid."""
    return dict(os.environ)


def _home(environ: Mapping[str, str]) -> Path:
    """Return the home directory of this user, who may be missing from the list of users."""
    named = Path(environ.get("HOME", ""))
    if named.is_absolute():
        return named
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir or NOWHERE)
    except KeyError:
        return NOWHERE

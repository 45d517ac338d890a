"""Options that several commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from envbuilder.cluster.execution.targets import parse_target
from envbuilder.core.memory_policy import parse
from envbuilder.core.names import pep440
from envbuilder.core.references import registry_address, registry_repository
from envbuilder.core.versions import Release
from envbuilder.image.builder import Engine
from envbuilder.image.running.node_runtimes import NodeRuntime
from envbuilder.lock.ingredient_sources import Sources, layer_caches
from envbuilder.lock.lockfile import lock_path
from envbuilder.lock.publishers import parse_publisher, relative_to
from envbuilder.wiring.configuration import ALLOW_HOST_BUILDS

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
_ARCHIVE = click.Path(exists=True, dir_okay=False)


class ParsedValue(click.ParamType[T]):
    """A value that a function parses; its `ValueError` is the problem.

    Attributes:
        absolute: Returns the same value for any current directory.
    """

    def __init__(self, name: str, parse: Callable[[str], T], absolute: Callable[[str], str] = str) -> None:
        self.name = name
        self.absolute = absolute
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:  # noqa: ANN401
        """Return the value; raise a usage error for an invalid text."""
        if not isinstance(value, str):
            return cast("T", value)
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _absolute_place(text: str) -> str:
    name, place = parse_publisher(text)
    return f"{name}={relative_to(place, Path.cwd())}"


def _absolute_lock(text: str) -> str:
    path = lock_path(text)
    return text if path is None else str(path.absolute())


MEMORY = ParsedValue("policy", parse)
_RELEASE = ParsedValue("version", pep440)
_PYTHON = ParsedValue("version", Release)
# Credentials in an address are refused and not repeated.
_REGISTRY = ParsedValue("registry", lambda text: registry_address(text) if text else "")
_PLACE = ParsedValue("publisher", parse_publisher, _absolute_place)
LOCK_OR_ENVIRONMENT = ParsedValue("lock", str, _absolute_lock)
REPOSITORY = ParsedValue("repository", registry_repository)
EXECUTION_TARGET = ParsedValue("place", parse_target)
LAYER_CACHE = ParsedValue("repository", lambda text: layer_caches(text)[0] if text else "")


def tensorflow_option(command: F) -> F:
    """Add `--tensorflow VERSION`: another patch release than the environment's."""
    return click.option(
        "--tensorflow",
        type=_RELEASE,
        metavar="VERSION",
        help="Other patch release of the environment; `show ENV` lists them.",
    )(command)


def cache_from_option(command: F) -> F:
    """Add `--cache-from REGISTRY/REPOSITORY`, which may be repeated."""
    return click.option(
        "--cache-from",
        type=LAYER_CACHE,
        metavar="REGISTRY/REPOSITORY",
        multiple=True,
        help="Take layers from this layer cache instead of making them; it is trusted. Repeatable. "
        "Default: `sources.layer_cache` of the spec, else ENVBUILDER_LAYER_CACHE.",
    )(command)


def python_option(text: str) -> Callable[[F], F]:
    """Add `--python X.Y`."""
    return click.option("--python", type=_PYTHON, metavar="X.Y", help=text)


def grouped(name: str, make: Callable[..., object], *options: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that adds options to a command, which receives them as one value.

    Args:
        name: Parameter of the command for the value.
        make: Makes the value; its parameters are those of the options.
        options: In the order of the help.
    """
    fields = tuple(inspect.signature(make).parameters)

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def wrapped(*args: Any, **given: Any) -> Any:  # noqa: ANN401  any parameter of the command
            value = make(**{field: given.pop(field) for field in fields})
            return command(*args, **{name: value}, **given)

        decorated: Any = wrapped
        for option in reversed(options):
            decorated = option(decorated)
        return cast("F", decorated)

    return decorate


def engine_option(text: str) -> Callable[[F], F]:
    """Add `--engine`; the command receives an `Engine`."""
    return click.option(
        "--engine",
        type=click.Choice([engine.value for engine in Engine]),
        default=Engine.AUTO.value,
        show_default=True,
        callback=lambda _context, _option, value: Engine(value),
        help=text,
    )


def runtime_option(command: F) -> F:
    """Add `--runtime`; the command receives a `NodeRuntime`, or None."""
    return click.option(
        "--runtime",
        type=click.Choice([runtime.value for runtime in NodeRuntime]),
        callback=lambda _context, _option, value: NodeRuntime(value) if value else None,
        help="Run IMAGE with apptainer or podman: a file, an OCI layout or archive, or HOST/NAME:TAG.",
    )(command)


def host_builds_option(command: F) -> F:
    """Add `--allow-host-builds`, which `command_settings` reads."""

    def keep(context: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001  click's signature
        context.find_root().meta[ALLOW_HOST_BUILDS.key] = value

    return click.option(
        "--allow-host-builds",
        is_flag=True,
        expose_value=False,
        callback=keep,
        help="Run code of packages with your own permissions if no sandbox is available.",
    )(command)


def _mirror_options(word: str) -> tuple[Callable[[Any], Any], ...]:
    """Return the options for the archives of a distribution."""
    title = word.capitalize()
    return (
        click.option(
            f"--{word}-mirror",
            metavar="URL",
            multiple=True,
            help=f"{title} archive. Repeatable: files that one archive lacks come from the next. "
            "Default: that of this host.",
        ),
        click.option(
            f"--{word}-keyring",
            metavar="FILE",
            type=_ARCHIVE,
            help=f"Keys of the {title} archive. Default: ENVBUILDER_{word.upper()}_KEYRING, else those of {title}.",
        ),
        click.option(
            f"--{word}-allow-expired",
            is_flag=True,
            help="Accept expired suites, as in snapshots and old suites.",
        ),
    )


def _mirrors(  # noqa: PLR0913  each is an option of its own
    *,
    debian_mirror: tuple[str, ...],
    debian_keyring: str | None,
    debian_allow_expired: bool,
    ubuntu_mirror: tuple[str, ...],
    ubuntu_keyring: str | None,
    ubuntu_allow_expired: bool,
) -> Sources:
    return Sources(
        debian_mirrors=debian_mirror,
        debian_keyring=debian_keyring or "",
        debian_allow_expired=debian_allow_expired,
        ubuntu_mirrors=ubuntu_mirror,
        ubuntu_keyring=ubuntu_keyring or "",
        ubuntu_allow_expired=ubuntu_allow_expired,
    )


def _archives(*, publisher: tuple[tuple[str, str], ...], accept_nvidia_eula: bool) -> Sources:
    return Sources(publishers=tuple(sorted(dict(publisher).items())), accept_nvidia_eula=accept_nvidia_eula)


def _sources(  # noqa: PLR0913  each is an option of its own
    mirrors: Sources,
    archives: Sources,
    *,
    registry_mirror: str,
    mirror: str | None,
    index: str,
    python_archive: tuple[str, ...],
) -> Sources:
    return replace(
        mirrors,
        registry_mirror=registry_mirror,
        mirror=mirror or "",
        index=index,
        python_archives=python_archive,
        publishers=archives.publishers,
        accept_nvidia_eula=archives.accept_nvidia_eula,
    )


mirror_options = grouped("mirrors", _mirrors, *_mirror_options("debian"), *_mirror_options("ubuntu"))
"""The archives of Debian and Ubuntu, and the accepted signatures; the command receives them as `mirrors`."""
archive_options = grouped(
    "archives",
    _archives,
    click.option(
        "--publisher",
        metavar="NAME=PLACE",
        multiple=True,
        type=_PLACE,
        help="URL or directory with the archives of a publisher; `*` stands for all publishers. Repeatable.",
    ),
    click.option(
        "--accept-nvidia-eula",
        is_flag=True,
        help="Accept NVIDIA's license for the libraries in its archives.",
    ),
)
"""Archives of vendors; the command receives them as `archives`."""
source_options = grouped(
    "sources",
    _sources,
    click.option(
        "--registry-mirror",
        type=_REGISTRY,
        metavar="HOST[:PORT]",
        default="",
        help="Registry to pull base images from.",
    ),
    click.option(
        "--mirror",
        type=REPOSITORY,
        metavar="HOST[:PORT]/NAME",
        help="Repository with the files of `envbuilder mirror`, for files that their sources no longer have.",
    ),
    mirror_options,
    click.option(
        "--index", metavar="URL", default="", help="Package index. Default: that of spec or settings, else that of uv."
    ),
    click.option(
        "--python-archive", metavar="FILE", multiple=True, type=_ARCHIVE, help="Interpreter archive to use. Repeatable."
    ),
    archive_options,
)
"""Sources of files; the command receives them as `sources`."""

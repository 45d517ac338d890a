"""Options that several commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar, cast

import click
from packaging.version import InvalidVersion, Version

from envbuilder.core.memory_policy import MemoryPolicy, parse
from envbuilder.core.references import registry_address
from envbuilder.core.versions import Release
from envbuilder.image.builder import Engine
from envbuilder.lock.publisher_places import parse_publisher
from envbuilder.lock.spec_values import Sources, layer_caches
from envbuilder.wiring.settings import HOST_BUILDS

F = TypeVar("F", bound=Callable[..., Any])
_ARCHIVE = click.Path(exists=True, dir_okay=False)


class _Release(click.ParamType[Version]):
    """A version of TensorFlow."""

    name = "version"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Version:  # noqa: ANN401
        """Return the release; raise a usage error for any other text."""
        if isinstance(value, Version):
            return value
        try:
            return Version(str(value))
        except InvalidVersion:
            self.fail(f"{value!r} is not a version", param, ctx)


def tensorflow_option(command: F) -> F:
    """Add `--tensorflow VERSION`: another patch release than the environment's."""
    return click.option(
        "--tensorflow",
        type=_Release(),
        metavar="VERSION",
        help="Other patch release of the environment; `show ENV` lists them.",
    )(command)


class _Python(click.ParamType[Release]):
    """Major and minor version of an interpreter."""

    name = "version"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Release:  # noqa: ANN401
        """Return the release; raise a usage error for any other text."""
        if isinstance(value, Release):
            return value
        try:
            return Release(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _Memory(click.ParamType[MemoryPolicy]):
    """A GPU memory policy."""

    name = "policy"

    def convert(
        self,
        value: Any,  # noqa: ANN401  whatever click passes
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> MemoryPolicy:
        """Return the policy; raise a usage error for any other text."""
        if isinstance(value, MemoryPolicy):
            return value
        try:
            return parse(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


MEMORY = _Memory()


class _Registry(click.ParamType[str]):
    """Address of a registry; credentials in it are refused and not repeated."""

    name = "registry"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401
        """Return the address; raise a usage error for any other text."""
        try:
            return registry_address(str(value)) if value else ""
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _LayerCache(click.ParamType[str]):
    """Repository of a registry that has layers; credentials in it are refused and not repeated."""

    name = "repository"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401
        """Return the repository; raise a usage error for any other text."""
        try:
            return layer_caches(str(value))[0] if value else ""
        except ValueError as error:
            self.fail(str(error), param, ctx)


LAYER_CACHE = _LayerCache()


def cache_from_option(command: F) -> F:
    """Add `--cache-from REGISTRY/REPOSITORY`, which may be repeated."""
    return click.option(
        "--cache-from",
        type=LAYER_CACHE,
        metavar="REGISTRY/REPOSITORY",
        multiple=True,
        help="Take layers that others made from here; its statements are believed. Repeatable. "
        "Default: `sources.layer_cache` of the spec, else ENVBUILDER_LAYER_CACHE.",
    )(command)


def python_option(text: str) -> Callable[[F], F]:
    """Add `--python X.Y`."""
    return click.option("--python", type=_Python(), metavar="X.Y", help=text)


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


def host_builds_option(command: F) -> F:
    """Add `--allow-host-builds`, which `command_settings` reads."""

    def keep(context: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001  click's signature
        context.find_root().meta[HOST_BUILDS] = value

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
            help=f"{title} archive. Repeatable: a later one is asked for what an earlier one does not have. "
            "Default: that of this host.",
        ),
        click.option(
            f"--{word}-keyring",
            metavar="FILE",
            type=_ARCHIVE,
            help=f"Keys of the {title} archive. Default: ENVBUILDER_{word.upper()}_KEYRING, else those of {title}.",
        ),
        click.option(f"--{word}-allow-expired", is_flag=True, help="Accept expired suites of archives and snapshots."),
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


class _Place(click.ParamType[tuple[str, str]]):
    """A publisher with the place of its archives."""

    name = "publisher"

    def convert(
        self,
        value: Any,  # noqa: ANN401  whatever click passes
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[str, str]:
        """Return name and place; raise a usage error for any other text."""
        if isinstance(value, tuple):
            return value
        try:
            return parse_publisher(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _archives(*, publisher: tuple[tuple[str, str], ...], accept_nvidia_eula: bool) -> Sources:
    return Sources(publishers=tuple(sorted(dict(publisher).items())), accept_nvidia_eula=accept_nvidia_eula)


def _sources(
    mirrors: Sources, archives: Sources, *, registry_mirror: str, index: str, python_archive: tuple[str, ...]
) -> Sources:
    return replace(
        mirrors,
        registry_mirror=registry_mirror,
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
        type=_Place(),
        help="URL or directory of a publisher's archives; NAME * for all. Repeatable.",
    ),
    click.option(
        "--accept-nvidia-eula",
        is_flag=True,
        help="Accept NVIDIA's license of libraries in its archives.",
    ),
)
"""Archives of vendors; the command receives them as `archives`."""
source_options = grouped(
    "sources",
    _sources,
    click.option(
        "--registry-mirror",
        type=_Registry(),
        metavar="HOST[:PORT]",
        default="",
        help="Registry to pull base images from.",
    ),
    mirror_options,
    click.option("--index", metavar="URL", default="", help="Package index. Default: configuration of uv."),
    click.option(
        "--python-archive", metavar="FILE", multiple=True, type=_ARCHIVE, help="Interpreter archive to use. Repeatable."
    ),
    archive_options,
)
"""Sources of files; the command receives them as `sources`."""

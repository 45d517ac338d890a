"""Options that several verbs share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar, cast

import click
from packaging.version import InvalidVersion, Version

from envbuilder.core.memory_policy import MemoryPolicy, parse
from envbuilder.core.references import registry_address
from envbuilder.core.versions import Release
from envbuilder.lock.lock import Sources
from envbuilder.wiring.settings import HOST_BUILDS, KEYRING_VARIABLE

F = TypeVar("F", bound=Callable[..., Any])
_ARCHIVE = click.Path(exists=True, dir_okay=False)


class _Release(click.ParamType[Version]):
    """A version of TensorFlow."""

    name = "version"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Version:  # noqa: ANN401
        """The version; anything else is an error of usage."""
        if isinstance(value, Version):
            return value
        try:
            return Version(str(value))
        except InvalidVersion:
            self.fail(f"{value!r} is not a version", param, ctx)


def tensorflow_option(command: F) -> F:
    """`--tensorflow VERSION`: another patch release than the row's."""
    return click.option(
        "--tensorflow", type=_Release(), metavar="VERSION", help="Another patch release than the row's: `show ENV`."
    )(command)


class _Python(click.ParamType[Release]):
    """Major and minor version of an interpreter."""

    name = "version"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Release:  # noqa: ANN401
        """The release; anything else is an error of usage."""
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
        value: Any,  # noqa: ANN401  whatever click gives
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> MemoryPolicy:
        """The policy; anything else is an error of usage."""
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
        """The address; anything else is an error of usage."""
        try:
            return registry_address(str(value)) if value else ""
        except ValueError as error:
            self.fail(str(error), param, ctx)


def python_option(text: str) -> Callable[[F], F]:
    """`--python X.Y`."""
    return click.option("--python", type=_Python(), metavar="X.Y", help=text)


def debian_options(command: F) -> F:
    """The Debian archive, and what is believed of it; the verb gets them as `debian`."""

    @click.option("--debian-mirror", metavar="URL", default="", help="Debian archive. Default: what this host uses.")
    @click.option(
        "--debian-keyring",
        metavar="FILE",
        type=_ARCHIVE,
        help=f"Keys of the Debian archive. Default: {KEYRING_VARIABLE}, else Debian's.",
    )
    @click.option("--debian-allow-expired", is_flag=True, help="Accept expired suites, as in archives and snapshots.")
    @functools.wraps(command)
    def wrapped(
        *args: Any,  # noqa: ANN401  whatever the verb takes
        debian_mirror: str,
        debian_keyring: str | None,
        debian_allow_expired: bool,
        **others: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        debian = Sources(
            debian_mirror=debian_mirror,
            debian_keyring=debian_keyring or "",
            debian_allow_expired=debian_allow_expired,
        )
        return command(*args, debian=debian, **others)

    return cast("F", wrapped)


def host_builds_option(command: F) -> F:
    """`--allow-host-builds`; read by `command_settings`."""

    def keep(context: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001  click's signature
        context.find_root().meta[HOST_BUILDS] = value

    return click.option(
        "--allow-host-builds",
        is_flag=True,
        expose_value=False,
        callback=keep,
        help="Run code of packages as yourself where no sandbox works.",
    )(command)


def source_options(command: F) -> F:
    """Where to fetch from; the verb gets them as `sources`."""

    @click.option(
        "--registry-mirror",
        type=_Registry(),
        metavar="HOST[:PORT]",
        default="",
        help="Registry that serves the base images.",
    )
    @debian_options
    @click.option("--index", metavar="URL", default="", help="Package index. Default: uv's own configuration.")
    @click.option("--python-archive", metavar="FILE", multiple=True, type=_ARCHIVE, help="Interpreter archive to use.")
    @functools.wraps(command)
    def wrapped(
        *args: Any,  # noqa: ANN401  whatever the verb takes
        registry_mirror: str,
        debian: Sources,
        index: str,
        python_archive: tuple[str, ...],
        **others: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        sources = replace(debian, registry_mirror=registry_mirror, index=index, python_archives=python_archive)
        return command(*args, sources=sources, **others)

    return cast("F", wrapped)

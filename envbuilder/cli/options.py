"""Options that several commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from envbuilder.cluster.execution.targets import parse_target
from envbuilder.core.memory_policy import parse
from envbuilder.core.names import pep440
from envbuilder.core.references import registry_address, registry_repository
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


class EnumChoice(click.Choice[T]):
    """The values of an enumeration of texts; the command receives the member."""

    def normalize_choice(self, choice: object, ctx: click.Context | None) -> str:  # noqa: ARG002  click's signature
        """Return the value of a member, where click takes its name."""
        return str(choice)


def _absolute_place(text: str) -> str:
    name, place = parse_publisher(text)
    return f"{name}={relative_to(place, Path.cwd())}"


def _absolute_lock(text: str) -> str:
    path = lock_path(text)
    return text if path is None else str(path.absolute())


MEMORY = ParsedValue("policy", parse)
_RELEASE = ParsedValue("version", pep440)
# Credentials in an address are refused and not repeated.
_REGISTRY = ParsedValue("registry", lambda text: registry_address(text) if text else "")
_PLACE = ParsedValue("publisher", parse_publisher, _absolute_place)
LOCK_OR_ENVIRONMENT = ParsedValue("lock", str, _absolute_lock)
REPOSITORY = ParsedValue("repository", registry_repository)
EXECUTION_TARGET = ParsedValue("place", parse_target)
LAYER_CACHE = ParsedValue("repository", lambda text: layer_caches(text)[0] if text else "")


tensorflow_option = click.option(
    "--tensorflow",
    type=_RELEASE,
    metavar="VERSION",
    help="Other patch release of the environment; `show ENV` lists them.",
)
cache_from_option = click.option(
    "--cache-from",
    type=LAYER_CACHE,
    metavar="REGISTRY/REPOSITORY",
    multiple=True,
    help="Take layers from this layer cache instead of making them; it is trusted. Repeatable. "
    "Default: `sources.layer_cache` of the spec, else ENVBUILDER_LAYER_CACHE.",
)
runtime_option = click.option(
    "--runtime",
    type=EnumChoice(NodeRuntime),
    help="Run IMAGE with apptainer or podman: a file, an OCI layout or archive, or HOST/NAME:TAG.",
)
device_option = click.option(
    "--device", "devices", multiple=True, metavar="NAME", help="CDI device to use instead of all GPUs. Repeatable."
)
base_option = click.option(
    "--base", default="", metavar="ID", help="Base of the image. Default: the first one available."
)
lock_argument = click.argument("target", metavar="[ENV|LOCK]", required=False)


def grouped(name: str, make: Callable[..., object], *options: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that adds options to a command, which receives them as one value.

    Args:
        name: Parameter of the command for the value.
        make: Makes the value; its parameters are those of the options, and others with defaults.
        options: In the order of the help.
    """
    fields = tuple(inspect.signature(make).parameters)

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def wrapped(*args: Any, **given: Any) -> Any:  # noqa: ANN401  any parameter of the command
            value = make(**{field: given.pop(field) for field in fields if field in given})
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
        type=EnumChoice(Engine),
        default=Engine.AUTO.value,
        show_default=True,
        help=text,
    )


def _allow_host_builds(context: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001  click's signature
    context.find_root().meta[ALLOW_HOST_BUILDS.key] = value


host_builds_option = click.option(
    "--allow-host-builds",
    is_flag=True,
    expose_value=False,
    callback=_allow_host_builds,
    help="Run code of packages with your own permissions if no sandbox is available.",
)
"""It is read by `command_settings`."""


def _or_empty(_context: click.Context, _option: click.Parameter, value: str | None) -> str:
    return value or ""


def _mirror_options(word: str) -> tuple[Callable[[Any], Any], ...]:
    """Return the options for the archives of a distribution."""
    title = word.capitalize()
    return (
        click.option(
            f"--{word}-mirror",
            f"{word}_mirrors",
            metavar="URL",
            multiple=True,
            help=f"{title} archive. Repeatable: files that one archive lacks come from the next. "
            "Default: that of this host.",
        ),
        click.option(
            f"--{word}-keyring",
            metavar="FILE",
            type=_ARCHIVE,
            callback=_or_empty,
            help=f"Keys of the {title} archive. Default: ENVBUILDER_{word.upper()}_KEYRING, else those of {title}.",
        ),
        click.option(
            f"--{word}-allow-expired",
            is_flag=True,
            help="Accept expired suites, as in snapshots and old suites.",
        ),
    )


_MIRRORS = (*_mirror_options("debian"), *_mirror_options("ubuntu"))
mirror_options = grouped("mirrors", Sources, *_MIRRORS)
"""The archives of Debian and Ubuntu, and the accepted signatures; the command receives them as `mirrors`."""
source_options = grouped(
    "sources",
    Sources,
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
        callback=_or_empty,
        help="Repository with the files of `envbuilder mirror`, for files that their sources no longer have.",
    ),
    *_MIRRORS,
    click.option(
        "--index", metavar="URL", default="", help="Package index. Default: that of spec or settings, else that of uv."
    ),
    click.option(
        "--python-archive",
        "python_archives",
        metavar="FILE",
        multiple=True,
        type=_ARCHIVE,
        help="Interpreter archive to use. Repeatable.",
    ),
    click.option(
        "--publisher",
        "publishers",
        metavar="NAME=PLACE",
        multiple=True,
        type=_PLACE,
        callback=lambda _context, _option, value: tuple(sorted(dict(value).items())),
        help="URL or directory with the archives of a publisher; `*` stands for all publishers. Repeatable.",
    ),
    click.option(
        "--accept-nvidia-eula",
        is_flag=True,
        help="Accept NVIDIA's license for the libraries in its archives.",
    ),
)
"""Sources of files; the command receives them as `sources`."""
driver_option = click.option(
    "--driver", metavar="X.Y[.Z]", help="Driver version of the machine, as shown by `nvidia-smi`."
)
gpu_option = click.option(
    "--gpu",
    "gpus",
    multiple=True,
    metavar="NAME[,NAME]",
    help="GPUs to support: K80, V100, 'RTX 3090', or a compute capability such as 8.6. Repeatable.",
)
host_option = click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Facts of a machine (`doctor -o`, `probe.py --hardware`). Repeatable: all must fit.",
)

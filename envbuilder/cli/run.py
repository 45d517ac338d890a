"""`envbuilder run IMAGE|ENV COMMAND…`."""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from envbuilder.cli.context import command_settings
from envbuilder.cli.options import MEMORY, engine_option, grouped, runtime_option
from envbuilder.cli.output.printing import notice
from envbuilder.core.errors import UsageError
from envbuilder.core.memory_policy import MemoryPolicy
from envbuilder.image.builder import Engine
from envbuilder.image.run import prepare
from envbuilder.image.running.node_runtimes import NodeRuntime
from envbuilder.oci.runtime.command import RunRequest
from envbuilder.wiring.catalogs import known_catalog
from envbuilder.wiring.node_runtimes import chosen_runner
from envbuilder.wiring.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerOptions:
    """The options of the container, as typed.

    Attributes:
        memory: GPU memory policy; None for that of the image.
        gpus: Whether it gets the GPUs; None means if there are any.
        devices: CDI devices instead of all GPUs.
        mounts: `DIR[:PATH]` each.
        workdir: Working directory; empty for the first mount, or the image's.
        variables: `NAME[=VALUE]` each.
        user: User; empty for that of the image.
        no_network: Whether it has no access to any network.
    """

    memory: MemoryPolicy | None
    gpus: bool | None
    devices: tuple[str, ...]
    mounts: tuple[str, ...]
    workdir: str
    variables: tuple[str, ...]
    user: str
    no_network: bool


_container_options = grouped(
    "options",
    ContainerOptions,
    click.option(
        "--memory",
        type=MEMORY,
        metavar="POLICY",
        help="GPU memory policy, such as limit:4GiB. Default: that of the image.",
    ),
    click.option(
        "--gpus/--no-gpus", default=None, help="Run with or without GPUs. Default: with GPUs if the engine has any."
    ),
    click.option(
        "--device", "devices", multiple=True, metavar="NAME", help="CDI device to use instead of all GPUs. Repeatable."
    ),
    click.option(
        "--mount",
        "mounts",
        multiple=True,
        metavar="DIR[:PATH]",
        help="Directory of this host to mount read-write. Repeatable.",
    ),
    click.option(
        "--workdir",
        metavar="PATH",
        default="",
        help="Working directory. Default: the first --mount, else that of the image.",
    ),
    click.option(
        "--env",
        "variables",
        multiple=True,
        metavar="NAME[=VALUE]",
        help="Set an environment variable; without VALUE, copy it from this host. Repeatable.",
    ),
    click.option("--user", metavar="NAME|UID[:GID]", default="", help="User to run as. Default: that of the image."),
    click.option("--no-network", is_flag=True, help="Run without network access."),
)


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.argument("image", metavar="IMAGE|ENV")
@click.argument("words", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@engine_option("Where the image is. assemble: in the cache directory, run by runc or namespaces without GPUs.")
@runtime_option
@_container_options
def command(
    image: str, words: tuple[str, ...], engine: Engine, runtime: NodeRuntime | None, options: ContainerOptions
) -> None:
    """Run a command in an image: `envbuilder run --mount . tf-2.4-cuda11.0 python train.py`.

    Output is streamed, and the exit status is that of the command. The container is removed afterwards: write files to
    keep to a --mount. IMAGE may be a file of Apptainer (.sif, .sqsh).
    """
    here = command_settings()
    session = Session(here, known_catalog(here, progress=notice), notice)
    shared = tuple(_mount(text) for text in options.mounts)
    reference, runner = chosen_runner(session, image, engine, runtime)
    request = RunRequest(
        image=reference,
        command=_command(words),
        env=tuple(sorted(_variable(text, here.environ) for text in options.variables)),
        devices=options.devices,
        network="none" if options.no_network else "default",
        user=options.user,
        shared=shared,
        folder=options.workdir or (shared[0][1] if shared else ""),
    )
    prepared = prepare(runner, request, options.memory, gpus=options.gpus)
    with_gpus = "with the GPUs" if prepared.request.gpus else "without GPUs"
    policy = f"; GPU memory: {prepared.memory}" if prepared.memory else ""
    session.progress(f"running in {request.image} {with_gpus}{policy}")
    sys.exit(runner.follow(prepared.request, _show))


def _show(number: int, piece: bytes) -> None:
    stream = sys.stdout if number == 1 else sys.stderr
    stream.flush()
    stream.buffer.write(piece)
    stream.buffer.flush()


def _command(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command without the `--` that often precedes it."""
    given = words[1:] if words[0] == "--" else words
    if not given:
        raise UsageError("no command after --", hint="envbuilder run IMAGE -- python train.py")
    return given


def _mount(text: str) -> tuple[str, str]:
    """Return the directory of this host and its path in the container, `/work/NAME` by default."""
    source, colon, target = text.partition(":")
    folder = Path(source).resolve()
    if not folder.is_dir():
        raise UsageError(f"--mount {source}: no such directory", hint="specify an existing directory")
    if colon and not target.startswith("/"):
        raise UsageError(
            f"--mount {text}: {target!r} is not an absolute path", hint="use an absolute path: --mount .:/work"
        )
    path = posixpath.normpath(target) if target else f"/work/{folder.name}"
    if path.lstrip("/").partition("/")[0] in {"", "proc", "sys", "dev"}:
        raise UsageError(
            f"--mount {text}: {target!r} is reserved for the container", hint="use another path: --mount .:/work"
        )
    return str(folder), path


def _variable(text: str, environ: Mapping[str, str]) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals and name not in environ:
        raise UsageError(f"--env {name}: the variable is not set on this host", hint=f"set a value: --env {name}=…")
    return name, value if equals else environ[name]

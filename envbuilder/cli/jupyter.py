"""`envbuilder run --jupyter` and `--tensorboard`: servers in an image that has the profile, made if necessary."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import click

from envbuilder.catalog.environments import Catalog
from envbuilder.cli.container_options import refuse_late_option, run_container
from envbuilder.cli.options import grouped
from envbuilder.cli.output.printing import notice
from envbuilder.cli.output.progress import watched
from envbuilder.cli.session import command_session
from envbuilder.core.errors import UnknownEnvironment, UsageError
from envbuilder.image.builder import Engine, ImageRequest
from envbuilder.image.running.node_runtimes import NodeRuntime
from envbuilder.image.servers import Server, check_is_free, free_port, jupyter, tensorboard, wait_for
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lockfile import LOCK
from envbuilder.oci.runtime.command import PublishedPort
from envbuilder.wiring.containers import ContainerOptions, server_port
from envbuilder.wiring.engines import ENGINES, chosen_engine, engine_with, reference_of
from envbuilder.wiring.profiles import built, request_with
from envbuilder.wiring.session import Session

_LOGS = "/logs"
_TOKEN_BYTES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The server to start instead of a command.

    Attributes:
        logs: Directory that TensorBoard shows; None not to start it.
    """

    jupyter: bool
    logs: Path | None

    @property
    def is_named(self) -> bool:
        """True if a server is to be started."""
        return self.jupyter or self.logs is not None

    @property
    def profile(self) -> str:
        """Profile that has the server."""
        return "jupyter" if self.jupyter else "tensorboard"


server_options = grouped(
    "server",
    ServerOptions,
    click.option(
        "--jupyter",
        is_flag=True,
        help="Start JupyterLab in [ENV|LOCK] on this host and print its link, instead of a command. Adds the profile "
        "`jupyter` if it is missing. -p PORT chooses its port; default: a free one.",
    ),
    click.option(
        "--tensorboard",
        "logs",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
        help="Likewise, start TensorBoard for the logs in DIR.",
    ),
)
"""The command receives them as `server`."""


def serve(  # noqa: PLR0913  the options of `run`
    target: str | None,
    words: tuple[str, ...],
    engine: Engine,
    runtime: NodeRuntime | None,
    server: ServerOptions,
    options: ContainerOptions,
) -> int:
    """Start a server in an environment or a lock, print its link as soon as it answers, and return its exit status.

    Raises:
        UsageError: The command line has something that a server does not support, such as a command or a runtime; or
            its port is in use.
    """
    _check(words, runtime, server)
    with watched(command_session(target), target or "lock") as (session, _):
        engine = _engine(session, target, engine)
        if ENGINES[engine].own_network and options.no_network:
            raise UsageError(
                f"a server without network cannot be reached with the engine {engine}",
                hint="omit --no-network, or use --engine assemble",
            )
        own_network = ENGINES[engine].own_network or options.no_network
        chosen, others = server_port(options.ports, _usual_port(session.catalog, server.profile))
        if chosen and not own_network:
            check_is_free(chosen)  # before a build that takes minutes; an engine with networks checks it itself
        started = _server(server, chosen or free_port(), own_network=own_network)
        reference = built(session, _request(session, target, started.profile), engine)
    runner = ENGINES[engine].runner(session)
    container = _container(replace(options, ports=others), server.logs, started)
    with _printing_link(started, started.forwarding(session.settings.environ)):
        return run_container(session, (reference, runner), started.command, container)


def _engine(session: Session, target: str | None, engine: Engine) -> Engine:
    """Return the named engine, or the one that has the image without the server, or the first available one."""
    name = target or str(LOCK)
    if Path(name).is_file() or session.catalog.environment(name):
        engine = engine_with(session, reference_of(session, name, engine), engine)
    return chosen_engine(session, engine, ())


def _request(session: Session, target: str | None, profile: str) -> ImageRequest:
    """Return the image with a profile; an unknown environment may be the name of a project's image."""
    try:
        return request_with(session, target, profile, Sources())
    except UnknownEnvironment as error:
        error.hint += "; for the image of a project, name its lock: `envbuilder run --jupyter DIR/envbuilder.lock`"
        raise


def _check(words: tuple[str, ...], runtime: NodeRuntime | None, server: ServerOptions) -> None:
    if server.jupyter and server.logs:
        raise UsageError(
            "--jupyter cannot be combined with --tensorboard",
            hint="in a notebook, run `%load_ext tensorboard` and `%tensorboard --logdir DIR`; or start two containers",
        )
    if words:
        refuse_late_option(words)
        raise UsageError(
            f"a server has no command: {' '.join(words)}", hint="omit it, or omit --jupyter and --tensorboard"
        )
    if runtime is not None:
        raise UsageError(
            f"servers cannot be started by --runtime {runtime}", hint="use --engine docker or --engine assemble"
        )


def _usual_port(catalog: Catalog, profile: str) -> int:
    """Return the default port of a profile's server; 0 if the catalog lacks the profile."""
    return next((each.port for each in catalog.profiles if each.id == profile), 0)


def _server(options: ServerOptions, port: PublishedPort, *, own_network: bool) -> Server:
    if options.jupyter:
        return jupyter(port, secrets.token_hex(_TOKEN_BYTES), own_network=own_network)
    return tensorboard(port, _LOGS, own_network=own_network)


def _container(options: ContainerOptions, logs: Path | None, server: Server) -> ContainerOptions:
    """Return the options of the container: no terminal, in which Jupyter would ask before it ends."""
    shown = (f"{logs}:{_LOGS}",) if logs else ()
    return replace(
        options,
        mounts=(*shown, *options.mounts) or (".",),
        ports=(*server.forwarded, *options.ports),
        variables=(*options.variables, *(f"{name}={value}" for name, value in server.env)),
        tty=False,
        interactive=False,
    )


@contextmanager
def _printing_link(server: Server, forwarding: str) -> Iterator[None]:
    """Print the link of a server as soon as it answers, while the block runs."""
    ended = threading.Event()

    def print_link() -> None:
        if wait_for(server, ended):
            notice(f"{server.title} is ready; Ctrl-C ends it")
            if forwarding:
                notice(f"you are logged in by SSH: on your own machine, run `{forwarding}`, then open the link there")
            click.echo(server.address)

    watcher = threading.Thread(target=print_link, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()

"""The requests to the Docker engine that envbuilder makes: typed, and with only our own exceptions.

Only this module, `docker_client` and `docker_errors` import the SDK, which takes 0.3 s.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import IO, Any, TypeVar, cast

import docker
import requests
from docker.tls import TLSConfig
from docker.types import DeviceRequest, LogConfig, Mount
from docker.utils import kwargs_from_env, parse_host

from envbuilder.core.errors import EngineError, EngineUnavailable, EnvbuilderError
from envbuilder.core.json_fields import Record, number
from envbuilder.core.references import ImageRef
from envbuilder.image.docker.client import TIMEOUT_SECONDS, DockerClient, StandardStreams
from envbuilder.image.docker.endpoint import Endpoint, endpoint
from envbuilder.image.docker.errors import Refusal, refused, translated
from envbuilder.oci.runtime.command import PublishedPort, RunRequest, publishable

_UNIX = "http+unix://"
_Item = TypeVar("_Item")


class DockerApi:
    """A connection to one engine.

    Args:
        client: The SDK.
        context: Name of the Docker context that names the engine; empty for none.
    """

    def __init__(self, client: DockerClient, *, context: str = "") -> None:
        self._client = client
        self.context = context

    def version(self) -> Record:
        """Return the answer of `GET /version`."""
        with translated():
            return self._client.version()

    def system(self) -> Record:
        """Return the answer of `GET /info`."""
        with translated():
            return self._client.info()

    def inspect_image(self, reference: str) -> Record | None:
        """Return the engine's description of an image; None if it has none of this name."""
        with translated(), suppress(docker.errors.NotFound):
            return self._client.inspect_image(reference)
        return None

    def history(self, image: str) -> Sequence[Record]:
        """Return the history of the layers of an image, highest first."""
        with translated():
            return self._client.history(image)

    def distribution(self, reference: str, refusal: Refusal) -> Record:
        """Return a registry's description of an image."""
        with translated(refusal):
            return self._client.inspect_distribution(reference)

    def tag(self, image: str, reference: ImageRef) -> None:
        """Add a name to an image; another image with this name loses it."""
        with translated():
            self._client.tag(image, reference.repository, reference.tag)

    def untag(self, reference: str) -> None:
        """Remove a name of an image; the engine deletes an image without any other name."""
        with translated():
            self._client.remove_image(reference, noprune=True)

    def delete_image(self, reference: str) -> None:
        """Remove a name of an image, and the image and those below it that have no other; do nothing if it is gone."""
        with translated(), suppress(docker.errors.NotFound):
            self._client.remove_image(reference)

    def pull(self, reference: ImageRef, refusal: Refusal) -> Iterator[Record]:
        """Pull an image; yield the engine's progress messages."""
        with translated(refusal):
            yield from self._client.pull(
                reference.repository, tag=reference.digest or reference.tag, stream=True, decode=True
            )

    def push(self, reference: ImageRef, refusal: Refusal) -> Iterator[Record]:
        """Push an image; yield the engine's progress messages."""
        with translated(refusal), self._client.patient():
            yield from self._client.push(reference.repository, tag=reference.tag, stream=True, decode=True)

    def load(self, archive: IO[bytes] | Iterator[bytes]) -> Iterator[Record]:
        """Load the images of an archive, which may be generated while it is sent; yield the engine's messages."""
        with translated(), self._client.patient():
            yield from self._client.load_image(archive)

    def save(self, reference: str) -> Iterator[bytes]:
        """Yield an image as an archive, in pieces (`GET /images/…/get`)."""
        with translated(), self._client.patient():
            yield from self._client.get_image(reference)

    def images(self) -> Sequence[Record]:
        """Return a summary of all images that are not intermediate steps of others."""
        with translated():
            return self._client.images()

    def build(
        self,
        context: Iterator[bytes],
        params: Mapping[str, object],
        refusal: Refusal,
        consume: Callable[[Record], None],
    ) -> None:
        """Run a build to its end, or until `consume` raises; closing the connection then stops the build.

        Args:
            context: The tar stream.
            params: Query of `POST /build`.
            refusal: The error to raise when the engine refuses the build.
            consume: Receives each message.
        """
        with translated(refusal):
            response = self._client.post_build(context, params)
        try:
            for message in _guarded(self._client.messages(response)):
                consume(message)
        finally:
            response.close()

    def cancel_build(self, build_id: str) -> None:
        """Stop a BuildKit build; do nothing if it has ended."""
        with translated():
            self._client.cancel_build(build_id)

    def create(self, name: str, request: RunRequest, *, stdin: bool, terminal: bool, init: bool = False) -> None:
        """Create a container that cannot gain privileges; the engine keeps its output until it is removed.

        Args:
            name: Chosen by the caller, so that it can be removed even if the answer to the creation is lost.
            request: Its `files`, `timeout`, `copy_out`, `writable` and `keep` have no effect.
            stdin: Whether its standard input is open until the attached client closes it.
            terminal: Whether it has a terminal.
            init: Whether process 1 is the init of the engine, which starts the command, passes signals on and reaps
                processes.
        """
        gpus = [DeviceRequest(count=-1, capabilities=[["gpu"]])] if request.gpus and not request.devices else []
        named = [DeviceRequest(driver="cdi", device_ids=list(request.devices))] if request.devices else []
        mounts = [Mount(target, source, type="bind", read_only=True) for source, target in request.mounts]
        mounts += [Mount(target, source, type="bind") for source, target in request.shared]
        ports = publishable(request.ports, has_network=request.network != "none", program="Docker")
        caller = f"{request.caller.uid}:{request.caller.gid}" if request.caller else ""
        with translated():
            host = self._client.create_host_config(
                network_mode=request.network,
                device_requests=[*gpus, *named] or None,
                security_opt=["no-new-privileges"],
                mounts=mounts,
                port_bindings=_bindings(ports) or None,
                log_config=LogConfig(type=LogConfig.types.JSON),
                init=init or None,
            )
            self._client.create_container(
                request.image,
                name=name,
                entrypoint=[request.command[0]],
                command=list(request.command[1:]),
                # A name without a value takes a variable of the image away.
                environment=[*(f"{key}={value}" for key, value in request.env), *request.unset],
                user=caller or request.user or None,
                working_dir=request.folder or None,
                ports=sorted({port.container for port in ports}) or None,
                stdin_open=stdin,
                tty=terminal,
                host_config=host,
                use_config_proxy=False,
            )

    @contextmanager
    def attached(self, container: str, *, stdin: bool, terminal: bool) -> Iterator[StandardStreams]:
        """Attach to a container that is not started yet; `stdin` and `terminal` as it was created."""
        with ExitStack() as stack:
            with translated():
                attachment = stack.enter_context(self._client.attached(container, stdin=stdin, terminal=terminal))
            # The caller's own failures, such as a closed standard output, are not those of the engine.
            yield replace(attachment, pieces=_guarded(attachment.pieces))

    def resize(self, container: str, rows: int, columns: int) -> None:
        """Set the size of the terminal of a container; do nothing if it has ended."""
        with translated(), _unless_ended():
            self._client.resize(container, rows, columns)

    def send_signal(self, container: str, signal: int) -> None:
        """Send a signal to process 1 of a container; do nothing if it has ended."""
        with translated(), _unless_ended():
            self._client.kill(container, signal)

    def inspect_container(self, container: str) -> Record:
        """Return the engine's description of a container."""
        with translated():
            return cast("Record", self._client.inspect_container(container))

    def find_container(self, container: str) -> Record | None:
        """Return the engine's description of a container; None if there is none."""
        with translated(), suppress(docker.errors.NotFound):
            return cast("Record", self._client.inspect_container(container))
        return None

    def is_changed(self, container: str) -> bool:
        """Return True if a container has other files than its image."""
        with translated():
            return bool(self._client.diff(container))

    def commit(self, container: str, reference: ImageRef, hidden: Sequence[str]) -> None:
        """Make an image of a container, in which these variables are empty."""
        with translated(), self._client.patient():
            self._client.commit(
                container,
                repository=reference.repository,
                tag=reference.tag,
                conf={"Env": [f"{name}=" for name in hidden]},
            )

    def start_command(self, container: str, command: tuple[str, ...]) -> str:
        """Prepare a command in a running container; return its id."""

        def refusal(message: str) -> EnvbuilderError:
            return EngineError(
                f"cannot run a command in {container}: {message}", hint="`docker ps` lists the running containers"
            )

        with translated(refusal):
            return str(self._client.exec_create(container, list(command))["Id"])

    def follow_command(self, command: str) -> Iterator[tuple[bytes | None, bytes | None]]:
        """Start a prepared command; yield pieces of its standard output and error."""
        with translated(), self._client.patient():
            yield from self._client.exec_start(command, stream=True, demux=True)

    def command_status(self, command: str) -> int | None:
        """Return the exit status of a command that has ended."""
        with translated():
            status = self._client.exec_inspect(command)["ExitCode"]
        return int(status) if status is not None else None

    def put(self, container: str, archive: bytes) -> None:
        """Unpack a tar archive at the root of a container."""
        with translated():
            self._client.put_archive(container, "/", archive)

    def get(self, container: str, path: str) -> Iterable[bytes] | None:
        """Return a tar archive with one path of a container; None if the path does not exist."""
        with translated(), suppress(docker.errors.NotFound):
            pieces, _ = self._client.get_archive(container, path)
            return _guarded(iter(pieces))
        return None

    def start(self, container: str) -> None:
        """Start a container."""
        with translated():
            self._client.start(container)

    def wait(self, container: str, seconds: float) -> int | None:
        """Return the exit status of a container; None if it still runs after so many seconds."""
        with translated():
            try:
                return number(self._client.wait(container, timeout=seconds), "StatusCode")  # type: ignore[arg-type]
            except requests.exceptions.ReadTimeout:
                return None
            except requests.exceptions.ConnectionError as error:
                # The engine sends its headers at once, so the timeout can also occur while the body is read.
                if "timed out" in str(error).lower():
                    return None
                raise

    def output(self, container: str, *, stderr: bool) -> bytes:
        """Return the complete output of a container on one of its two streams."""
        with translated():
            return self._client.logs(container, stdout=not stderr, stderr=stderr)

    def remove(self, container: str) -> None:
        """Remove a container, running or not; do nothing if it does not exist."""
        with translated(), suppress(docker.errors.NotFound):
            self._client.remove_container(container, v=True, force=True)


@contextmanager
def _unless_ended() -> Iterator[None]:
    """Leave the block silently if the container has ended, or is gone."""
    try:
        yield
    except docker.errors.APIError as error:
        if error.status_code not in {requests.codes.conflict, requests.codes.not_found}:
            raise


def _bindings(ports: Sequence[PublishedPort]) -> dict[int | str, Any]:
    """Return the addresses of this host for each port of a container, as the SDK takes them."""
    bindings: dict[int | str, Any] = {}
    for port in ports:
        bindings.setdefault(port.container, []).append((port.address, port.host))
    return bindings


def open_api(environ: Mapping[str, str], *, timeout: int = TIMEOUT_SECONDS) -> DockerApi:
    """Connect to the engine named by DOCKER_HOST or a context, or to the default socket.

    `timeout` is the number of seconds that the engine has for each answer.

    Raises:
        EngineUnavailable: No engine answers, or the context does not exist.
    """
    where = endpoint(environ)
    try:
        with translated():
            settings = _settings(where, environ)
            _knock(str(parse_host(settings.get("base_url", ""), tls="tls" in settings)))
            return DockerApi(DockerClient(version="auto", timeout=timeout, **settings), context=where.context)
    except EngineUnavailable as error:
        if where.context:
            error.message = f"{error.message} (Docker context {where.context}: {where.host})"
            error.args = (error.message,)
            error.hint = "start that engine, or select another one: `docker context use NAME`"
        raise


def _settings(where: Endpoint, environ: Mapping[str, str]) -> dict[str, Any]:
    if not where.context:
        # An empty mapping would make the SDK read os.environ.
        return {**kwargs_from_env(environment={"DOCKER_HOST": "", **environ})}
    if where.tls is None:
        return {"base_url": where.host}
    tls = TLSConfig(
        ca_cert=str(where.tls.authority) if where.tls.authority else None,
        client_cert=(str(where.tls.client[0]), str(where.tls.client[1])) if where.tls.client else None,
        verify=where.tls.verify,
    )
    return {"base_url": where.host, "tls": tls}


def _knock(address: str) -> None:
    """Raise EngineUnavailable if nothing listens at a Unix socket; the SDK would detect it too, but leak its socket."""
    if address.startswith(_UNIX):
        try:
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(address.removeprefix(_UNIX))
        except OSError as error:
            raise docker.errors.DockerException(str(error)) from error


def _guarded(stream: Iterator[_Item]) -> Iterator[_Item]:
    with translated(refused):
        yield from stream

"""The SDK's low-level client, extended for builds."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, cast
from urllib.parse import quote

import docker
import requests
from docker.utils.socket import frames_iter

from envbuilder.core.json_fields import Record

TIMEOUT_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class StandardStreams:
    """The standard streams of a container.

    Attributes:
        pieces: Number of the stream and a piece of it, until the container ends.
    """

    pieces: Iterator[tuple[int, bytes]]
    _connection: socket.socket

    def send(self, piece: bytes) -> None:
        """Send a piece of standard input."""
        self._connection.sendall(piece)

    def end(self) -> None:
        """Close standard input; over TLS it stays open, since Python closes such a connection in both directions only.

        Source: https://docs.python.org/3/library/ssl.html#ssl.SSLSocket.unwrap
        """
        if not isinstance(self._connection, ssl.SSLSocket):
            self._connection.shutdown(socket.SHUT_WR)


class DockerClient(docker.APIClient):
    """The SDK's client with the private request methods declared, and the types that its stubs omit.

    The public API cannot request BuildKit: https://github.com/docker/docker-py/issues/2230; and
    https://github.com/docker/docker-py/pull/3344, which was not merged.
    """

    if TYPE_CHECKING:

        def _post(self, url: str, **request: object) -> requests.Response: ...
        def _url(self, path: str) -> str: ...
        def _get_raw_response_socket(self, response: requests.Response) -> object: ...
        def _raise_for_status(self, response: requests.Response) -> None: ...
        def _stream_helper(self, response: requests.Response, *, decode: bool) -> Iterator[Record]: ...

        def inspect_image(self, image: str) -> Record:
            """Return the answer of `GET /images/…/json`."""

        def inspect_distribution(self, image: str) -> Record:  # type: ignore[override]
            """Return the answer of `GET /distribution/…/json`."""

        def history(self, image: str) -> Sequence[Record]:
            """Return the answer of `GET /images/…/history`."""

        def images(self) -> Sequence[Record]:  # type: ignore[override]
            """Return the answer of `GET /images/json`."""

        def load_image(self, data: IO[bytes] | Iterator[bytes]) -> Iterator[Record]:  # type: ignore[override]
            """Load an archive (`POST /images/load`)."""

    def post_build(self, context: Iterator[bytes], params: Mapping[str, object]) -> requests.Response:
        """Start a build; return its stream of messages."""
        response = self._post(
            self._url("/build"),
            data=context,
            params=params,
            headers={"Content-Type": "application/x-tar"},
            stream=True,
            timeout=None,
        )
        self._raise_for_status(response)
        return response

    def messages(self, response: requests.Response) -> Iterator[Record]:
        """Yield the JSON messages of a streamed answer."""
        return self._stream_helper(response, decode=True)

    def cancel_build(self, build_id: str) -> None:
        """Stop a BuildKit build that was started with this `buildid`."""
        self._raise_for_status(self._post(self._url("/build/cancel"), params={"id": build_id}))

    @contextmanager
    def attached(self, container: str, *, stdin: bool, terminal: bool) -> Iterator[StandardStreams]:
        """Yield the streams of `POST /containers/…/attach`; the SDK's own methods leak their socket.

        The output of a terminal is not divided into streams.
        """
        response = self._post(
            self._url(f"/containers/{quote(container)}/attach"),
            params={"stdin": int(stdin), "stdout": 1, "stderr": 1, "stream": 1},
            headers={"Connection": "Upgrade", "Upgrade": "tcp"},
            stream=True,
            timeout=None,
        )
        try:
            stream = self._get_raw_response_socket(response)
            pieces = frames_iter(stream, tty=terminal)  # type: ignore[no-untyped-call]
            yield StandardStreams(pieces=pieces, _connection=cast("socket.socket", getattr(stream, "_sock", stream)))
        finally:
            response.close()

    @contextmanager
    def patient(self) -> Iterator[None]:
        """Disable the timeout: `push` and `load` are silent while the engine packs a layer of gigabytes."""
        self.timeout = None  # type: ignore[assignment]  # requests accepts it; the stub knows only numbers
        try:
            yield
        finally:
            self.timeout = TIMEOUT_SECONDS

"""Names of the images of a local engine, read without the Docker SDK, whose import takes 0.3 s."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Mapping

from envbuilder.core.errors import EngineUnavailable
from envbuilder.core.json_input import LARGEST, load_json
from envbuilder.image.docker.context import endpoint

DEFAULT_SOCKET = "/var/run/docker.sock"


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def image_names(environ: Mapping[str, str], *, timeout: float) -> frozenset[str] | None:
    """Return the names of the images that the engine behind a local socket has from a registry.

    An image that was built or imported there has no registry digest, so a lock cannot pin it.

    Args:
        environ: Selects the engine, as for the docker command; only one behind a local socket is asked.
        timeout: Seconds for connecting and for the answer.

    Returns:
        Every `repository:tag` and `repository@digest` of them. Empty for a remote engine, or after the timeout; None
        if there is none at the local socket.
    """
    try:
        address = endpoint(environ).host or f"unix://{DEFAULT_SOCKET}"
    except EngineUnavailable:
        return None
    if not address.startswith("unix://"):
        return frozenset()
    connection = _UnixConnection(address.removeprefix("unix://"), timeout)
    try:
        connection.request("GET", "/images/json")
        images = load_json(connection.getresponse().read(LARGEST + 1))
        if not isinstance(images, list):
            return None
        return frozenset(name for image in images for name in _names(image))
    except TimeoutError:
        return frozenset()
    except (OSError, http.client.HTTPException, ValueError, AttributeError, TypeError):
        return None
    finally:
        connection.close()


def _names(image: Mapping[str, list[str] | None]) -> list[str]:
    # An engine before 25 gives `<none>@<none>` where there is no digest.
    digests = [name for name in image.get("RepoDigests") or () if not name.startswith("<none>")]
    return [*digests, *(image.get("RepoTags") or ())] if digests else []

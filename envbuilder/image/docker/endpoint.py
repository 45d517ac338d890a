"""The Docker engine and the names of its images, without the SDK.

The engine is selected as in the docker command: DOCKER_HOST, DOCKER_CONTEXT, the current context. Not read by the SDK:
its import takes 0.3 s, it reads the environment of the process, and it takes the default engine when a context does not
exist.

Source: https://docs.docker.com/engine/manage-resources/contexts/, docker-py 7.2 `docker.context`; read 2026-11.
"""

from __future__ import annotations

import hashlib
import http.client
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from envbuilder.core.errors import EngineUnavailable
from envbuilder.core.field_rules import At
from envbuilder.core.files import read_regular
from envbuilder.core.json_input import LARGEST, load_json
from envbuilder.core.structure import load

_DEFAULT = "default"
_UNIX = "unix://"
_ENDPOINT = "docker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """Certificates of a context.

    Attributes:
        authority: Certificate of the issuer; None means those of this machine.
        client: Client certificate and key; None for none.
    """

    authority: Path | None
    client: tuple[Path, Path] | None
    verify: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The address of an engine.

    Attributes:
        context: Name of the context; empty for DOCKER_HOST or the default.
        host: Address; empty for the default socket.
        tls: Certificates of the context; None when it has none.
    """

    context: str = ""
    host: str = ""
    tls: Tls | None = None

    @property
    def is_local(self) -> bool:
        """True if the address is one of this machine."""
        return not self.host or self.host.startswith((_UNIX, "npipe://"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Config:
    """The part of `config.json` that names the current context."""

    context: Annotated[str, At("currentContext")] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    """The part of the `meta.json` of a context that says where its engine is."""

    host: Annotated[str, At("Endpoints", _ENDPOINT, "Host")] = ""
    skip_verify: Annotated[bool, At("Endpoints", _ENDPOINT, "SkipTLSVerify")] = False


def endpoint(environ: Mapping[str, str]) -> Endpoint:
    """Return the endpoint that the docker command would use.

    Args:
        environ: `DOCKER_HOST`, `DOCKER_CONTEXT`, `DOCKER_CONFIG` and `HOME`.

    Raises:
        EngineUnavailable: The context does not exist or cannot be read, or the address holds a password.
    """
    found = _endpoint(environ)
    _, _, rest = found.host.rpartition("://")
    user, at, _ = rest.rpartition("@")
    if at and ":" in user and not found.is_local:
        # The address is not repeated: messages are written to logs, facts and reports.
        raise EngineUnavailable(
            f"{f'the Docker context {found.context}' if found.context else 'DOCKER_HOST'} holds a password, "
            "which no container engine takes",
            hint="set DOCKER_HOST to tcp://HOST:PORT with certificates (DOCKER_CERT_PATH), or as ssh://USER@HOST",
        )
    return found


def _endpoint(environ: Mapping[str, str]) -> Endpoint:
    if environ.get("DOCKER_HOST"):
        return Endpoint(host=environ["DOCKER_HOST"])
    config = _config(environ)
    name = environ.get("DOCKER_CONTEXT") or _current(config)
    if not name or name == _DEFAULT or config is None:
        return Endpoint()
    return _named(name, config)


def _config(environ: Mapping[str, str]) -> Path | None:
    if environ.get("DOCKER_CONFIG"):
        return Path(environ["DOCKER_CONFIG"])
    return Path(environ["HOME"]) / ".docker" if environ.get("HOME") else None


def _current(config: Path | None) -> str:
    if config is None:
        return ""
    try:
        return load(_Config, _read(config / "config.json")).context
    except (OSError, ValueError):  # docker itself warns and continues
        return ""


def _named(name: str, config: Path) -> Endpoint:
    place = hashlib.sha256(name.encode()).hexdigest()
    try:
        found = load(_Context, _read(config / "contexts" / "meta" / place / "meta.json"))
    except FileNotFoundError:
        raise EngineUnavailable(
            f"the Docker context {name} does not exist",
            hint="check `docker context ls`; select another one with `docker context use NAME`",
        ) from None
    except (OSError, ValueError) as error:
        raise EngineUnavailable(
            f"the Docker context {name} cannot be read: {error}", hint="select another one: `docker context use NAME`"
        ) from error
    directory = config / "contexts" / "tls" / place / _ENDPOINT
    return Endpoint(context=name, host=found.host, tls=_tls(directory, verify=not found.skip_verify))


def _tls(directory: Path, *, verify: bool) -> Tls | None:
    authority, certificate, key = (directory / name for name in ("ca.pem", "cert.pem", "key.pem"))
    client = (certificate, key) if certificate.is_file() and key.is_file() else None
    if verify and client is None and not authority.is_file():
        return None
    return Tls(authority=authority if authority.is_file() else None, client=client, verify=verify)


def _read(path: Path) -> object:
    return load_json(read_regular(path, LARGEST))


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

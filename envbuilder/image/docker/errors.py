"""The table that maps every exception of docker-py and of its HTTP libraries to one of ours."""

from __future__ import annotations

import http.client
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

import docker.errors as sdk
import requests
import urllib3

from envbuilder.core.errors import DiskFull, EngineError, EngineLost, EngineUnavailable, EnvbuilderError

Refusal: TypeAlias = Callable[[str], EnvbuilderError]
_Mapping: TypeAlias = Callable[[BaseException, Refusal], EnvbuilderError]

_NOBODY_LISTENS = (FileNotFoundError, ConnectionRefusedError, PermissionError, socket.gaierror)
_START = "start it with `systemctl start docker` (or `dockerd`), or set DOCKER_HOST to where it listens"
_PERMISSION = "add your user to the group `docker` and log in again, or use sudo"
_REFUSALS: tuple[tuple[str, type[EngineError], str], ...] = (
    (r"no space left on device", DiskFull, "check `docker system df`, then free space with `docker builder prune`"),
    (
        r"could not select device driver|nvidia-container-(cli|runtime)|unresolvable CDI devices",
        EngineError,
        "the engine does not support GPUs: install the NVIDIA Container Toolkit, then `nvidia-ctk runtime configure`",
    ),
    (
        r"address already in use|port is already allocated",
        EngineError,
        "choose another port of this host: `-p HOST:CONTAINER`",
    ),
    (
        r"no such image|does not exist locally",
        EngineError,
        "`docker images` lists the images; `envbuilder build ENV` builds one",
    ),
)


def refused(explanation: str) -> EnvbuilderError:
    """Return the error for a request that the engine refused."""
    for pattern, error, hint in _REFUSALS:
        if re.search(pattern, explanation, re.IGNORECASE):
            return error(f"the engine refused the request: {explanation}", hint=hint)
    return EngineError(f"the engine refused the request: {explanation}")


def _refusal(error: BaseException, refusal: Refusal) -> EnvbuilderError:
    explanation = error.explanation if isinstance(error, sdk.APIError) else None
    return refusal(explanation or str(error))


def _unavailable(error: BaseException, _: Refusal) -> EnvbuilderError:
    causes = tuple(_causes(error))
    denied = any(isinstance(cause, PermissionError) for cause in causes)
    reason = next((cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror), str(error))
    return EngineUnavailable(f"no container engine answers: {reason}", hint=_PERMISSION if denied else _START)


def _misconfigured(error: BaseException, _: Refusal) -> EnvbuilderError:
    return EngineUnavailable(
        f"the settings for reaching the engine are wrong: {error}",
        hint="check DOCKER_HOST, DOCKER_TLS_VERIFY, DOCKER_CERT_PATH and ~/.docker/config.json",
    )


def _connection(error: BaseException, refusal: Refusal) -> EnvbuilderError:
    if any(isinstance(cause, _NOBODY_LISTENS) for cause in _causes(error)):
        return _unavailable(error, refusal)
    return EngineLost(
        f"the engine stopped answering: {error}", hint="check the log of the engine, then run the command again"
    )


def _garbled(error: BaseException, _: Refusal) -> EnvbuilderError:
    reason = error.msg if isinstance(error, sdk.StreamParseError) else error
    return EngineLost(
        f"the response of the engine was cut off:  {reason}",
        hint="check the log of the engine, then run the command again",
    )


def _malformed(error: BaseException, _: Refusal) -> EnvbuilderError:
    return EngineError(f"a request to the engine was malformed: {error}")


# Looked up along the method resolution order of an exception, so that subclasses of later versions find their parent.
MAPPINGS: Mapping[type[BaseException], _Mapping] = {
    sdk.DockerException: _unavailable,  # raised itself only while opening: wrong address, no answer to the version
    sdk.APIError: _refusal,
    sdk.NotFound: _refusal,
    sdk.ImageNotFound: _refusal,
    sdk.BuildError: _refusal,
    sdk.ImageLoadError: _refusal,
    sdk.ContainerError: _refusal,
    sdk.InvalidVersion: _misconfigured,
    sdk.InvalidConfigFile: _misconfigured,
    sdk.TLSParameterError: _misconfigured,
    sdk.MissingContextParameter: _misconfigured,
    sdk.ContextAlreadyExists: _misconfigured,
    sdk.ContextException: _misconfigured,
    sdk.ContextNotFound: _misconfigured,
    sdk.InvalidRepository: _malformed,
    sdk.InvalidArgument: _malformed,
    sdk.DeprecatedMethod: _malformed,
    sdk.NullResource: _malformed,
    sdk.StreamParseError: _garbled,  # a RuntimeError, no DockerException
    requests.exceptions.RequestException: _connection,
    requests.exceptions.InvalidJSONError: _garbled,
    requests.exceptions.InvalidURL: _misconfigured,
    urllib3.exceptions.HTTPError: _connection,
    urllib3.exceptions.ProxySchemeUnsupported: _misconfigured,  # a ValueError, no HTTPError
    http.client.HTTPException: _garbled,
    ConnectionError: _connection,
}


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and its causes: docker-py chains with `from`, requests and urllib3 put causes in `args`."""
    pending, seen = [error], set[int]()
    while pending:
        current = pending.pop()
        if id(current) not in seen:
            seen.add(id(current))
            yield current
            wrapped = (current.__cause__, current.__context__, *current.args, getattr(current, "reason", None))
            pending += [cause for cause in wrapped if isinstance(cause, BaseException)]


def mapped(error: BaseException, refusal: Refusal = refused) -> EnvbuilderError:
    """Return our error for an exception of the SDK.

    `refusal` returns the error for a request that the engine refused; it receives the explanation of the engine.
    """
    kind = next(kind for kind in type(error).__mro__ if kind in MAPPINGS)
    return MAPPINGS[kind](error, refusal)


@contextmanager
def translated(refusal: Refusal = refused) -> Iterator[None]:
    """Convert all exceptions of a block that uses the engine to ours; `refusal` as in `mapped`."""
    try:
        yield
    except tuple(MAPPINGS) as error:
        raise mapped(error, refusal) from error

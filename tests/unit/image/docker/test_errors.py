import inspect
from collections.abc import Iterator
from types import ModuleType

import docker.errors
import pytest
import requests.exceptions
import urllib3.exceptions

from envbuilder.core.errors import (
    DiskFull,
    EngineError,
    EngineLost,
    EngineUnavailable,
    EnvbuilderError,
    SourceUnreachable,
)
from envbuilder.image.docker.errors import MAPPINGS, mapped, refused, translated


def exceptions_in(module: ModuleType) -> Iterator[type[BaseException]]:
    for _, found in inspect.getmembers(module, inspect.isclass):
        own = found.__module__ == module.__name__
        if own and issubclass(found, Exception) and not issubclass(found, Warning):
            yield found


@pytest.mark.parametrize("kind", list(exceptions_in(docker.errors)))
def test_every_exception_of_the_sdk_has_a_line_of_its_own(kind: type[BaseException]) -> None:
    assert kind in MAPPINGS


@pytest.mark.parametrize("module", [requests.exceptions, urllib3.exceptions])
def test_every_exception_of_the_http_libraries_is_caught(module: ModuleType) -> None:
    uncaught = [kind for kind in exceptions_in(module) if not issubclass(kind, tuple(MAPPINGS))]
    assert uncaught == []


def example(kind: type[BaseException]) -> BaseException:
    """An exception as the library itself makes it: one word for each argument that it insists on."""
    try:
        parameters = inspect.signature(kind).parameters.values()
    except ValueError:  # an exception written in C has no signature
        return kind("words")
    return kind(
        *(
            "words"
            for parameter in parameters
            if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
        )
    )


@pytest.mark.parametrize("kind", MAPPINGS)
def test_every_line_gives_an_error_of_ours(kind: type[BaseException]) -> None:
    with pytest.raises(EnvbuilderError) as caught, translated():
        raise example(kind)
    assert caught.value.message


def socket_error(cause: OSError) -> requests.exceptions.ConnectionError:
    return requests.exceptions.ConnectionError(urllib3.exceptions.ProtocolError("Connection aborted.", cause))


def test_a_socket_that_is_not_there_says_how_to_start_the_engine() -> None:
    found = mapped(socket_error(FileNotFoundError(2, "No such file or directory")))
    assert isinstance(found, EngineUnavailable)
    assert "systemctl start docker" in found.hint
    assert "dockerd" in found.hint
    assert "DOCKER_HOST" in found.hint


def test_a_socket_that_one_may_not_open_says_who_may() -> None:
    found = mapped(socket_error(PermissionError(13, "Permission denied")))
    assert isinstance(found, EngineUnavailable)
    assert "group `docker`" in found.hint
    assert "sudo" in found.hint


def test_the_cause_is_found_through_the_wrapping_of_the_sdk() -> None:
    error = docker.errors.DockerException("Error while fetching server API version")
    error.__cause__ = socket_error(PermissionError(13, "Permission denied"))
    assert "sudo" in mapped(error).hint


@pytest.mark.parametrize("cause", [ConnectionResetError(104, "reset by peer"), BrokenPipeError(32, "Broken pipe")])
def test_a_connection_that_breaks_is_a_lost_engine(cause: OSError) -> None:
    assert isinstance(mapped(socket_error(cause)), EngineLost)
    assert isinstance(mapped(cause), EngineLost)


def test_half_a_message_is_a_lost_engine() -> None:
    found = mapped(docker.errors.StreamParseError("Expecting value"))
    assert isinstance(found, EngineLost)
    assert "Expecting value" in found.message


@pytest.mark.parametrize(
    ("explanation", "error", "hint"),
    [
        ("write /var/lib/docker/tmp/x: no space left on device", DiskFull, "docker system df"),
        (
            "Error starting userland proxy: listen tcp4 127.0.0.1:80: bind: address already in use",
            EngineError,
            "-p HOST",
        ),
        ("Bind for 127.0.0.1:80 failed: port is already allocated", EngineError, "choose another port"),
        ('could not select device driver "" with capabilities: [[gpu]]', EngineError, "NVIDIA Container Toolkit"),
        ("No such image: x:1", EngineError, "docker images"),
        ("conflict", EngineError, ""),
    ],
)
def test_a_refusal_comes_with_what_to_do(explanation: str, error: type[EnvbuilderError], hint: str) -> None:
    found = refused(explanation)
    assert type(found) is error
    assert hint in found.hint


def test_what_a_refusal_means_is_up_to_the_caller() -> None:
    error = docker.errors.APIError("500 Server Error", explanation="denied")
    assert isinstance(mapped(error, SourceUnreachable), SourceUnreachable)


def test_other_exceptions_pass_unchanged() -> None:
    with pytest.raises(KeyError), translated():
        raise KeyError

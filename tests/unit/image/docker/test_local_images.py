"""What a local engine has, asked without the SDK."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import pytest

from envbuilder.image.docker.local_images import image_names

IMAGES = [
    {"RepoTags": ["nvidia/cuda:9.0-runtime"], "RepoDigests": ["nvidia/cuda@sha256:12"]},
    {"RepoTags": None, "RepoDigests": ["team/tf@sha256:34"]},
    {"RepoTags": ["built:here"], "RepoDigests": []},
    {"RepoTags": ["imported:here"], "RepoDigests": ["<none>@<none>"]},
    {"RepoTags": None, "RepoDigests": None},
]


def serve(path: Path, answer: bytes) -> threading.Thread:
    """Answer one request on a socket, after its headers have come."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(1)

    def work() -> None:
        with listener, listener.accept()[0] as connection:
            received = b""
            while b"\r\n\r\n" not in received:
                received += connection.recv(4096)
            connection.sendall(answer)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def http(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def test_tags_and_digests_of_images_from_a_registry_are_given(tmp_path: Path) -> None:
    path = tmp_path / "docker.sock"
    server = serve(path, http(json.dumps(IMAGES).encode()))
    names = image_names({"DOCKER_HOST": f"unix://{path}"}, timeout=10)
    server.join()
    assert names == frozenset({"nvidia/cuda:9.0-runtime", "nvidia/cuda@sha256:12", "team/tf@sha256:34"})


@pytest.mark.parametrize("answer", [b"", b"nonsense", http(b"{"), http(b'{"message": "no"}'), http(b"[1]")])
def test_an_engine_that_answers_something_else_is_none(answer: bytes, tmp_path: Path) -> None:
    path = tmp_path / "docker.sock"
    server = serve(path, answer)
    assert image_names({"DOCKER_HOST": f"unix://{path}"}, timeout=10) is None
    server.join()


def test_an_engine_that_is_not_there_is_none() -> None:
    assert image_names({"DOCKER_HOST": "unix:///nonexistent/docker.sock"}, timeout=10) is None


@pytest.mark.parametrize("host", ["tcp://127.0.0.1:1", "ssh://engine.example"])
def test_an_engine_elsewhere_is_not_asked(host: str) -> None:
    assert image_names({"DOCKER_HOST": host}, timeout=10) == frozenset()


def test_an_engine_that_is_late_is_there(tmp_path: Path) -> None:
    path = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen(1)
        assert image_names({"DOCKER_HOST": f"unix://{path}"}, timeout=0.01) == frozenset()

"""The engine is the one that the docker command would use."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import threading
from pathlib import Path

import pytest

from envbuilder.core.errors import EngineUnavailable
from envbuilder.image.docker.endpoint import endpoint, image_names
from envbuilder.image.docker.engine import connect, is_local, is_there


class Config:
    """A directory of Docker's configuration."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.environ = {"DOCKER_CONFIG": str(folder)}

    def add(self, name: str, host: str, *, skip_verify: bool = False) -> Path:
        """Make a context; gives the directory of its certificates."""
        place = hashlib.sha256(name.encode()).hexdigest()
        meta = self.folder / "contexts" / "meta" / place
        meta.mkdir(parents=True)
        docker = {"Host": host, "SkipTLSVerify": skip_verify}
        document = {"Name": name, "Metadata": {}, "Endpoints": {"docker": docker}}
        (meta / "meta.json").write_text(json.dumps(document), encoding="utf-8")
        return self.folder / "contexts" / "tls" / place / "docker"

    def use(self, name: str) -> None:
        """Make a context the current one."""
        (self.folder / "config.json").write_text(json.dumps({"currentContext": name}), encoding="utf-8")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(tmp_path / "docker")


def test_the_first_of_host_variable_and_current_context_decides(config: Config) -> None:
    config.add("one", "tcp://one:1")
    config.add("two", "tcp://two:2")
    assert endpoint(config.environ).host == ""
    config.use("one")
    assert (endpoint(config.environ).context, endpoint(config.environ).host) == ("one", "tcp://one:1")
    chosen = {**config.environ, "DOCKER_CONTEXT": "two"}
    assert (endpoint(chosen).context, endpoint(chosen).host) == ("two", "tcp://two:2")
    named = {**chosen, "DOCKER_HOST": "tcp://three:3"}
    assert (endpoint(named).context, endpoint(named).host) == ("", "tcp://three:3")
    assert endpoint({**config.environ, "DOCKER_CONTEXT": "default"}).host == ""


def test_the_configuration_lies_in_the_home_directory_by_default(tmp_path: Path) -> None:
    config = Config(tmp_path / ".docker")
    config.add("one", "tcp://one:1")
    config.use("one")
    assert endpoint({"HOME": str(tmp_path)}).context == "one"
    assert endpoint({}).context == ""


def test_a_context_that_does_not_exist_is_an_error_and_not_the_default(config: Config) -> None:
    config.use("gone")
    with pytest.raises(EngineUnavailable, match="context gone does not exist") as caught:
        connect(config.environ).info()
    assert "docker context" in caught.value.hint
    assert is_there(config.environ)


@pytest.mark.parametrize("text", ["{", "[]", '{"Endpoints": {"docker": {"Host": 1}}}', '{"Endpoints": {"docker": []}}'])
def test_a_context_that_cannot_be_read_is_an_error(config: Config, text: str) -> None:
    config.add("odd", "x")
    next(config.folder.rglob("meta.json")).write_text(text, encoding="utf-8")
    with pytest.raises(EngineUnavailable, match="context odd cannot be read"):
        endpoint({**config.environ, "DOCKER_CONTEXT": "odd"})


def test_an_engine_that_does_not_answer_is_named_with_its_context(config: Config) -> None:
    config.add("far", "unix:///nowhere/docker.sock")
    config.use("far")
    with pytest.raises(EngineUnavailable, match=r"Docker context far: unix:///nowhere/docker\.sock") as caught:
        connect(config.environ).info()
    assert "docker context use" in caught.value.hint
    assert is_there(config.environ)


def test_the_address_of_a_context_says_whether_its_engine_is_on_this_machine(config: Config, tmp_path: Path) -> None:
    config.add("near", f"unix://{tmp_path}/s")
    config.use("near")
    assert is_there(config.environ)
    assert is_local(config.environ)
    config.add("far", "tcp://far:2376")
    config.use("far")
    assert is_there(config.environ)
    assert not is_local(config.environ)


def test_certificates_of_a_context_are_used(config: Config) -> None:
    directory = config.add("safe", "tcp://127.0.0.1:9")
    environ = {**config.environ, "DOCKER_CONTEXT": "safe"}
    assert endpoint(environ).tls is None
    directory.mkdir(parents=True)
    for name in ("ca.pem", "cert.pem", "key.pem"):
        (directory / name).write_text("no certificate", encoding="utf-8")
    tls = endpoint(environ).tls
    assert tls is not None
    assert (tls.authority, tls.client) == (directory / "ca.pem", (directory / "cert.pem", directory / "key.pem"))
    assert tls.verify
    with pytest.raises(EngineUnavailable):
        connect(environ).info()
    config.add("loose", "tcp://127.0.0.1:9", skip_verify=True)
    loose = endpoint({**config.environ, "DOCKER_CONTEXT": "loose"}).tls
    assert loose is not None
    assert (loose.authority, loose.client, loose.verify) == (None, None, False)


@pytest.mark.parametrize(
    "address", ["tcp://me:hidden@127.0.0.1:9", "me:hidden@127.0.0.1:9", "https://me:hid/den@h:9", "ssh://me:hidden@h"]
)
def test_a_password_in_the_address_is_refused_and_not_repeated(config: Config, address: str) -> None:
    config.add("remote", address)
    for environ in ({"DOCKER_HOST": address}, {**config.environ, "DOCKER_CONTEXT": "remote"}):
        with pytest.raises(EngineUnavailable, match="holds a password") as caught:
            connect(environ).info()
        assert not re.search("hid|den", caught.value.message.removeprefix("DOCKER_HOST"))
        assert is_there(environ)


@pytest.mark.parametrize("address", ["ssh://me@h", "unix:///run/a:b@c.sock", "tcp://h:2375"])
def test_an_address_without_a_password_is_taken(address: str) -> None:
    assert endpoint({"DOCKER_HOST": address}).host == address


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

"""Catalogs of teams come over HTTPS with a certificate of one's own, and over SSH with a key of the caller."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from envbuilder.catalog.references import GitReference, catalog_reference
from envbuilder.core.errors import SourceUnreachable
from envbuilder.wiring.git_catalogs import fetched_catalog
from tests.fakes.loopback_server import LoopbackServer
from tests.fakes.teams import OWN, committed, team_catalog

_BACKEND = Path("/usr/lib/git-core/git-http-backend")
_SSHD = Path("/usr/sbin/sshd")
_SECONDS = 10.0


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return team_catalog(tmp_path / "repositories" / "catalog")


@pytest.fixture
def room(tmp_path: Path) -> Path:
    folder = tmp_path / "cache" / "catalogs"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A user without settings of git or SSH."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def reference(address: str, commit: str) -> GitReference:
    found = catalog_reference(f"git+{address}@{commit}")
    assert isinstance(found, GitReference)
    return found


def fetched(wanted: GitReference, room: Path, environ: dict[str, str]) -> Path:
    return fetched_catalog(wanted, room, environ, lambda _: None)


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


class _Cgi(BaseHTTPRequestHandler):
    """Runs git's own server for each request; asks for a password first, if the server has one."""

    server: GitServer

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002  the name in the standard library
        pass

    def _answer(self, body: bytes) -> None:
        if self.server.password and "Authorization" not in self.headers:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        done = subprocess.run(
            [_BACKEND],
            input=body,
            capture_output=True,
            check=False,
            env={
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(self.server.folder),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "safe.directory",
                "GIT_CONFIG_VALUE_0": "*",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            },
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class GitServer(LoopbackServer):
    """Serves the repositories of a directory over HTTPS."""

    def __init__(self, folder: Path, certificate: Path, key: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Cgi)
        self.folder = folder
        self.password = False
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.socket = context.wrap_socket(self.socket, server_side=True)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """The certificate of the server, which signs itself."""
    run(
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"),
        *("-keyout", str(tmp_path / "server.key"), "-out", str(tmp_path / "ca.pem"), "-subj", "/CN=localhost"),
        *("-addext", "subjectAltName=DNS:localhost"),
    )
    return tmp_path / "ca.pem"


@pytest.fixture
def server(tmp_path: Path, certificate: Path) -> Iterator[GitServer]:
    if not _BACKEND.is_file():
        pytest.fail(f"{_BACKEND} of git is missing")
    made = GitServer(tmp_path / "repositories", certificate, tmp_path / "server.key")
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


def test_a_catalog_comes_over_https_with_the_certificates_of_the_caller(
    repository: Path, room: Path, server: GitServer, certificate: Path, environ: dict[str, str]
) -> None:
    wanted = reference(f"https://localhost:{server.server_port}/catalog/.git", committed(repository))
    with pytest.raises(SourceUnreachable, match="certificate") as refused:
        fetched(wanted, room, environ)
    assert refused.value.hint
    found = fetched(wanted, room, {**environ, "SSL_CERT_FILE": str(certificate)})
    assert (found / "environments" / f"{OWN}.yaml").is_file()


def test_a_server_that_wants_a_password_is_an_error_and_nothing_is_asked(
    repository: Path, room: Path, server: GitServer, certificate: Path, environ: dict[str, str]
) -> None:
    server.password = True
    wanted = reference(f"https://localhost:{server.server_port}/catalog/.git", committed(repository))
    trusting = {**environ, "SSL_CERT_FILE": str(certificate)}
    with pytest.raises(SourceUnreachable, match="Username") as refused:
        fetched(wanted, room, trusting)
    assert "credentials" in refused.value.hint
    helper = room / "settings"
    helper.write_text("[credential]\n\thelper = \"!printf 'username=me\\\\npassword=secret\\\\n' #\"\n")
    assert fetched(wanted, room, {**trusting, "GIT_CONFIG_GLOBAL": str(helper)}).is_dir()


@pytest.fixture
def ssh_port(tmp_path: Path, environ: dict[str, str]) -> Iterator[int]:
    """An SSH server on loopback that lets one key in; the caller uses it by GIT_SSH_COMMAND."""
    folder = tmp_path / "ssh"
    folder.mkdir(mode=0o700)
    for name in ("host", "user"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name))
    shutil.copyfile(folder / "user.pub", folder / "authorized_keys")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    settings = folder / "sshd_config"
    settings.write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized_keys\n"
        f"PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
    )
    (tmp_path / "known_hosts").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    Path("/run/sshd").mkdir(exist_ok=True)
    daemon = subprocess.Popen([_SSHD, "-D", "-f", str(settings)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _wait_for(port)
    yield port
    daemon.terminate()
    daemon.wait()


def _wait_for(port: int) -> None:
    end = time.monotonic() + _SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return


@pytest.mark.skipif(os.getuid() != 0 or not _SSHD.is_file(), reason="starts an SSH server as root")
def test_a_catalog_comes_over_ssh_with_the_key_of_the_caller(
    tmp_path: Path, repository: Path, room: Path, ssh_port: int, environ: dict[str, str]
) -> None:
    wanted = reference(f"ssh://root@127.0.0.1:{ssh_port}{repository}", committed(repository))
    known = f"-F /dev/null -o UserKnownHostsFile={tmp_path}/known_hosts -o BatchMode=yes"
    with pytest.raises(SourceUnreachable, match="Host key verification failed") as refused:
        fetched(wanted, room, environ)
    assert f"127.0.0.1:{ssh_port}" in refused.value.message
    with pytest.raises(SourceUnreachable, match="Permission denied"):
        fetched(wanted, room, {**environ, "GIT_SSH_COMMAND": f"ssh {known} -o IdentityFile=none"})
    keyed = {**environ, "GIT_SSH_COMMAND": f"ssh {known} -i {tmp_path}/ssh/user"}
    found = fetched(wanted, room, keyed)
    assert (found / "environments" / f"{OWN}.yaml").is_file()

"""Whether an address answers: within its limit, through the proxy in force, and without a word about secrets."""

from __future__ import annotations

import http.server
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from envbuilder.diagnostics.host.environment import Silence
from envbuilder.diagnostics.host.reachability import answer, is_proxied

NOBODY = "127.0.0.1:9"
"""Nothing listens there; a port that was free a moment ago may belong to another test by now."""


@contextmanager
def silent() -> Iterator[str]:
    """A server that accepts and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"


class _Handler(http.server.BaseHTTPRequestHandler):
    status = 401

    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[tuple[int, list[str]]]:
    with http.server.HTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.asked = []  # type: ignore[attr-defined]
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_port, server.asked  # type: ignore[attr-defined]
        finally:
            server.shutdown()
            thread.join()


def test_any_status_is_an_answer() -> None:
    with serving() as (port, asked):
        assert answer(f"http://127.0.0.1:{port}/simple/", {}, 5) == 401
    assert asked == ["/simple/"]


def test_a_source_that_never_answers_is_asked_once_and_given_its_limit() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        started = time.monotonic()
        assert answer(f"http://127.0.0.1:{server.getsockname()[1]}/", {}, 0.3) is Silence.TIME
        assert time.monotonic() - started >= 0.25
        server.accept()[0].close()
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_nobody_there_is_told_from_no_answer() -> None:
    assert answer(f"http://{NOBODY}/", {}, 5) is Silence.REFUSED


@pytest.mark.parametrize("url", ["", "example", "ftp://127.0.0.1/", "https://", "http://[::1", "http://127.0.0.1:x/"])
def test_what_is_no_address_is_said(url: str) -> None:
    assert answer(url, {}, 1) in {Silence.ADDRESS, Silence.BROKEN}


def test_a_folder_answers_when_it_is_there(tmp_path: Path) -> None:
    assert answer(tmp_path.as_uri(), {}, 1) is None
    assert answer((tmp_path / "nothing").as_uri(), {}, 1) is Silence.REFUSED


def test_the_proxy_of_the_environment_is_asked() -> None:
    with serving() as (port, asked):
        environ = {"HTTP_PROXY": f"http://me:secret@127.0.0.1:{port}"}
        assert answer("http://mirror.invalid/debian/", environ, 5) == 401
        assert is_proxied("http://mirror.invalid/debian/", environ)
    assert asked == ["http://mirror.invalid/debian/"]


def test_a_proxy_that_is_gone_is_to_blame() -> None:
    environ = {"HTTPS_PROXY": f"http://{NOBODY}"}
    assert answer("https://mirror.invalid/", environ, 5) is Silence.PROXY
    assert answer("https://mirror.invalid/", {"HTTPS_PROXY": "http://["}, 5) is Silence.PROXY


def test_a_certificate_that_nobody_signed_is_named(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(certificate),
         "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serving(context) as (port, _):
        url = f"https://127.0.0.1:{port}/"
        assert answer(url, {}, 5) is Silence.CERTIFICATE
        assert answer(url, {"SSL_CERT_FILE": str(certificate)}, 5) == 401
        assert answer(url, {"SSL_CERT_FILE": str(tmp_path / "nothing")}, 5) is Silence.CA_BUNDLE

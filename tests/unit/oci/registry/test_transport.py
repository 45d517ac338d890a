"""Addresses, proxies, certificates and redirects: where requests go, and where they do not."""

from __future__ import annotations

import http.server
import io
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import EnvbuilderError, SourceUnreachable, UsageError
from envbuilder.core.http.proxies import proxy_for
from envbuilder.core.http.retries import Patience
from envbuilder.core.references import ImageRef
from envbuilder.oci.images import Descriptor
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.failures import Interrupted, error_message
from envbuilder.oci.registry.parallel import TransferState
from envbuilder.oci.registry.pull import find
from envbuilder.oci.registry.transport import Answer, Request, Transport
from envbuilder.oci.registry.uploads import Upload, commit_seconds
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import ignore
from tests.fakes.pushing import push
from tests.unit.oci.registry.conftest import Time, image_of, reference
from tests.unit.oci.registry.faulty import Fault, Registry


def get(url: str, *, local: bool = True) -> Request:
    return Request(method="GET", url=url, subject="x", local=local)


@pytest.fixture
def transport() -> Iterator[Transport]:
    made = Transport({})
    yield made
    made.close()


@pytest.mark.parametrize("url", ["http://registry.example/v2/", "http://10.0.0.1/", "ftp://127.0.0.1/", "file:///etc"])
def test_plain_http_is_only_for_this_machine(transport: Transport, url: str) -> None:
    with pytest.raises(SourceUnreachable, match="without https"):
        transport.send(get(url))


def test_a_registry_elsewhere_cannot_send_us_to_this_machine(transport: Transport, registry: Registry) -> None:
    with pytest.raises(SourceUnreachable, match="without https"):
        transport.send(get(f"http://{registry.host}/v2/", local=False))
    assert registry.seen == []


def test_redirects_that_go_round_in_circles_end(client: RegistryClient, registry: Registry) -> None:
    registry.faults = [Fault(match="/manifests/", status=302, headers=(("Location", "/v2/x/manifests/1"),), times=99)]
    with pytest.raises(SourceUnreachable, match="too many redirects"):
        find(client, reference(registry))
    assert len(registry.lines("/manifests/")) <= 6


def test_a_redirect_to_plain_http_elsewhere_is_refused(client: RegistryClient, registry: Registry) -> None:
    there = (("Location", "http://registry.example/v2/x/manifests/1?secret=1"),)
    registry.faults = [Fault(match="/manifests/", status=302, headers=there)]
    with pytest.raises(SourceUnreachable, match="without https") as caught:
        find(client, reference(registry))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("place", ["http://[", "http://127.0.0.1:99999/", "https://[::1"])
@pytest.mark.parametrize("match", ["/manifests/", "/blobs/"])
def test_a_redirect_to_no_address_is_refused(
    client: RegistryClient, registry: Registry, store: Store, place: str, match: str
) -> None:
    push(client, image_of(store, b"layer"), reference(registry), store)
    registry.faults = [Fault(match=match, status=307, headers=(("Location", place),))]
    with pytest.raises(SourceUnreachable, match="redirects to an invalid address"):
        find(client, reference(registry))


@pytest.mark.parametrize("place", ["http://[", "http://127.0.0.1:99999/"])
def test_an_upload_is_not_sent_to_an_address_that_is_none(
    client: RegistryClient, registry: Registry, store: Store, place: str
) -> None:
    registry.faults = [Fault(match="POST", status=202, headers=(("Location", place),))]
    with pytest.raises(SourceUnreachable, match="redirects to an invalid address"):
        push(client, image_of(store, b"layer"), reference(registry), store)


@pytest.mark.parametrize("realm", ["http://[", "http://127.0.0.1:99999/token", "https://[::1/"])
def test_a_token_service_at_an_address_that_is_none_is_refused(
    client: RegistryClient, registry: Registry, realm: str
) -> None:
    registry.faults = [
        Fault(match="/manifests/", status=401, headers=(("WWW-Authenticate", f'Bearer realm="{realm}"'),))
    ]
    with pytest.raises(SourceUnreachable, match="redirects to an invalid address"):
        find(client, reference(registry))


def test_a_registry_at_a_port_that_is_none_is_refused(client: RegistryClient) -> None:
    with pytest.raises(UsageError, match="not the address of a registry"):
        find(client, ImageRef(repository="registry.example:99999/team/tf", tag="1"))


def test_a_registry_that_is_silent_is_given_up_after_two_tries(registry: Registry, time: Time, tmp_path: Path) -> None:
    patience = Patience(time.pacing)
    assert patience.lasts(stalled=True)
    assert not patience.lasts(stalled=True)


def test_waits_that_a_registry_asks_for_end_after_a_minute_whatever_is_asked(
    client: RegistryClient, registry: Registry, time: Time
) -> None:
    busy = Fault(match="/manifests/", status=429, headers=(("Retry-After", "25"),), times=99)
    registry.faults = [busy]
    with pytest.raises(
        SourceUnreachable, match=f"{registry.host} still asks to wait after 60 seconds of waiting"
    ) as caught:
        find(client, reference(registry))
    assert time.waits == [25.0, 25.0, 10.0]
    assert "try again later" in caught.value.hint
    with pytest.raises(SourceUnreachable, match="still asks to wait"):
        find(client, reference(registry, "team/other:1"))
    assert sum(time.waits) == 60.0


def test_a_registry_that_stalls_in_one_request_and_another_is_not_asked_again(transport: Transport) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connections are made, and nobody answers
        place = f"http://127.0.0.1:{silent.getsockname()[1]}/v2/x/manifests"
        for tag in "ab":
            with pytest.raises(Interrupted, match="did not answer in time"):
                transport.send(replace(get(f"{place}/{tag}"), method="PUT", seconds=0.05))
        with pytest.raises(SourceUnreachable, match="too slow before") as caught:
            transport.send(get(f"{place}/c"))
    assert not isinstance(caught.value, Interrupted)


class Recording(Transport):
    """Remembers for how many seconds each request waits."""

    def __init__(self) -> None:
        super().__init__({})
        self.seconds: list[tuple[str, float]] = []

    def send(self, request: Request) -> Answer:
        self.seconds.append((request.method, request.seconds))
        return super().send(request)


def test_only_the_end_of_an_upload_may_be_waited_for_longer(
    client: RegistryClient, registry: Registry, store: Store
) -> None:
    sent = Recording()
    blob = Descriptor(media_type="x", digest=store.put(b"layer"), size=5)
    repository = replace(client.repository(reference(registry), push=True), transport=sent)
    Upload(repository=repository, blob=blob, item="x", stream=io.BytesIO(b"layer"), watch=TransferState(ignore)).run()
    repository.put_manifest(image_of(store, b"layer").manifest, "1")
    sent.close()
    assert sent.seconds == [("POST", 20.0), ("PATCH", 20.0), ("PUT", commit_seconds(5)), ("PUT", 20.0)]


def test_an_answer_that_is_too_long_is_not_read(client: RegistryClient, registry: Registry) -> None:
    registry.manifests["team/tf", "1"] = ("m", b" " * (5 << 20))
    with pytest.raises(SourceUnreachable, match="more than"):
        find(client, reference(registry))


def test_a_bundle_that_is_not_there_is_named_by_its_variable(tmp_path: Path) -> None:
    transport = Transport({"SSL_CERT_FILE": str(tmp_path / "private-place.pem")})
    with pytest.raises(UsageError, match="SSL_CERT_FILE") as caught:
        transport.send(get("https://127.0.0.1:1/"))
    assert "private-place" not in str(caught.value)


@pytest.mark.parametrize("proxy", ["socks5://me:hidden@127.0.0.1:1", "http://me:hidden@[::1", "http://me:hidden@:x"])
def test_a_proxy_that_cannot_be_used_is_refused_without_its_address(proxy: str) -> None:
    transport = Transport({"HTTPS_PROXY": proxy})
    with pytest.raises(EnvbuilderError) as caught:
        transport.send(get("https://registry.example/"))
    transport.close()
    assert "hidden" not in f"{caught.value!r} {caught.value.hint}"


class Proxy(http.server.BaseHTTPRequestHandler):
    asked: list[tuple[str, str]]

    def do_CONNECT(self) -> None:
        self.asked.append((self.path, self.headers.get("Proxy-Authorization", "")))
        self.send_error(403)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class names it
        """Say nothing."""


@pytest.fixture
def proxy() -> Iterator[http.server.HTTPServer]:
    Proxy.asked = []
    server = http.server.HTTPServer(("127.0.0.1", 0), Proxy)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_proxy_of_the_environment_is_asked_with_its_login(
    proxy: http.server.HTTPServer, tmp_path: Path, time: Time
) -> None:
    environ = {"HTTPS_PROXY": f"http://me:p%40ss@127.0.0.1:{proxy.server_port}"}
    with RegistryClient(environ, [], time.pacing) as client, pytest.raises(SourceUnreachable, match="proxy") as e:
        find(client, ImageRef.parse("registry.example/x:1"))
    assert Proxy.asked[0] == ("registry.example:443", "Basic bWU6cEBzcw==")
    assert "p%40ss" not in str(e.value)
    assert "p@ss" not in str(e.value)


@pytest.mark.parametrize(
    ("url", "no_proxy", "direct"),
    [
        ("https://a.example/", "", False),
        ("https://a.example/", "*", True),
        ("https://a.example/", "example", True),
        ("https://a.example/", ".example", True),
        ("https://a.example/", "*.example", True),
        ("https://aexample/", "example", False),
        ("https://a.example:5000/", "a.example:5000", True),
        ("https://a.example:5001/", "a.example:5000", False),
        ("https://10.2.3.4/", " 10.0.0.0/8 , b", True),
        ("https://11.2.3.4/", "10.0.0.0/8", False),
        ("https://[fe80::1]/", "fe80::/10", True),
        ("http://localhost:5000/", "", True),
        ("https://127.0.0.1/", "", True),
    ],
)
def test_no_proxy_is_read_as_other_programs_read_it(url: str, no_proxy: str, direct: bool) -> None:
    environ = {"https_proxy": "http://proxy.example:1", "http_proxy": "http://proxy.example:1", "NO_PROXY": no_proxy}
    assert (proxy_for(url, environ) == "") is direct


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    file = tmp_path / "own.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", file, "-out", tmp_path / "cert.pem",
         "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True,
        capture_output=True,
    )  # fmt: skip
    file.write_bytes(file.read_bytes() + (tmp_path / "cert.pem").read_bytes())
    return file


@pytest.fixture
def secure(registry: Registry, certificate: Path) -> Registry:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    registry.socket = context.wrap_socket(registry.socket, server_side=True)
    return registry


def test_a_registry_on_loopback_may_speak_tls(secure: Registry, certificate: Path, tmp_path: Path, time: Time) -> None:
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
        with (
            RegistryClient({name: str(tmp_path / "cert.pem")}, [], time.pacing) as client,
            pytest.raises(SourceUnreachable, match="has no manifest"),
        ):
            find(client, reference(secure))


def test_a_certificate_of_an_unknown_issuer_is_refused_at_once(secure: Registry, tmp_path: Path, time: Time) -> None:
    with (
        RegistryClient({}, [], time.pacing) as client,
        pytest.raises(SourceUnreachable, match="certificate cannot be verified") as caught,
    ):
        find(client, reference(secure))
    assert "SSL_CERT_FILE" in caught.value.hint
    assert time.waits == []


def test_what_a_registry_says_is_short_and_on_one_line() -> None:
    body = b'{"errors":[{"code":"A","message":"x\\u001b[31m\\n%s"}]}' % (b"y" * 5000)
    words = error_message(599, body)
    assert len(words) < 400
    assert words.isprintable()
    assert error_message(404, b"<html>") == "the registry answers 404 Not Found"

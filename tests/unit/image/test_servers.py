"""Servers are reached on the loopback interface, or at the address that the user names, and wait until they respond."""

from __future__ import annotations

import http.server
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from envbuilder.core.errors import UsageError
from envbuilder.image.servers import Server, check_is_free, free_port, jupyter, tensorboard, wait_for
from envbuilder.oci.runtime.command import PublishedPort

TOKEN = "0a1b2c"
LOGIN = {"SSH_CONNECTION": "192.0.2.7 51234 192.0.2.1 22"}


@contextmanager
def serving(status: int, *, port: int = 0) -> Iterator[int]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class names it
            pass

    with http.server.HTTPServer(("127.0.0.1", port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def at(port: int) -> Server:
    return Server(title="any", profile="any", command=("true",), published=published(port), own_network=False)


def published(host: int, container: int = 0, address: str = "127.0.0.1") -> PublishedPort:
    return PublishedPort(address=address, host=host, container=container or host)


def test_the_token_of_jupyter_is_in_the_link_and_in_no_command_line() -> None:
    server = jupyter(published(4711), TOKEN, own_network=False)
    assert server.address == f"http://127.0.0.1:4711/lab?token={TOKEN}"
    assert not any(TOKEN in word for word in server.command)
    assert dict(server.env) == {"JUPYTER_PORT_RETRIES": "0", "JUPYTER_TOKEN": TOKEN}


@pytest.mark.parametrize("own_network", [True, False])
def test_a_server_on_the_network_of_this_host_listens_on_loopback_only(*, own_network: bool) -> None:
    address = "0.0.0.0" if own_network else "127.0.0.1"  # noqa: S104  in a network of its own
    assert f"--ip={address}" in jupyter(published(4711), TOKEN, own_network=own_network).command
    assert f"--host={address}" in tensorboard(published(4711), "/logs", own_network=own_network).command


def test_tensorboard_shows_a_directory_of_the_container() -> None:
    server = tensorboard(published(4712), "/logs", own_network=False)
    assert "--logdir=/logs" in server.command
    assert server.address == "http://127.0.0.1:4712/"


@pytest.mark.parametrize("status", [200, 302])
def test_a_server_that_answers_its_page_is_ready(status: int) -> None:
    with serving(status) as port:
        assert wait_for(at(port), threading.Event())


def test_a_proxy_of_this_host_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving(200) as port:
        assert wait_for(at(port), threading.Event())


def test_a_server_that_starts_later_is_waited_for() -> None:
    port, ready = free_port().host, []
    waiter = threading.Thread(target=lambda: ready.append(wait_for(at(port), threading.Event())))
    waiter.start()
    with serving(200, port=port):
        waiter.join(30)
    assert ready == [True]


def test_a_server_that_ends_is_waited_for_no_longer() -> None:
    ended = threading.Event()
    ended.set()
    assert not wait_for(at(free_port().host), ended)


@pytest.mark.parametrize("status", [403, 500])
def test_a_server_that_refuses_its_page_is_not_ready(status: int) -> None:
    ended = threading.Event()
    with serving(status) as port:
        waiter = threading.Timer(0.05, ended.set)
        waiter.start()
        assert not wait_for(replace(at(port), path="/lab?token=wrong"), ended)
        waiter.join()


def test_over_ssh_the_port_is_forwarded_and_elsewhere_nothing_is_said() -> None:
    server = jupyter(published(40123), TOKEN, own_network=False)
    assert server.forwarding(LOGIN) == "ssh -N -L 40123:127.0.0.1:40123 HOST"
    assert not server.forwarding({})


def test_a_container_with_a_network_of_its_own_listens_at_its_port_and_the_link_has_that_of_this_host() -> None:
    server = jupyter(published(9000, 8888), TOKEN, own_network=True)
    assert "--port=8888" in server.command
    assert server.forwarded == ("127.0.0.1:9000:8888",)
    assert server.address == f"http://127.0.0.1:9000/lab?token={TOKEN}"
    assert server.forwarding(LOGIN) == "ssh -N -L 9000:127.0.0.1:9000 HOST"


def test_on_the_network_of_this_host_the_server_itself_listens_at_the_published_port() -> None:
    server = tensorboard(published(9000, 6006, "0.0.0.0"), "/logs", own_network=False)  # noqa: S104  as typed
    assert server.command[-2:] == ("--host=0.0.0.0", "--port=9000")
    assert server.forwarded == ()
    assert server.address == "http://127.0.0.1:9000/"


@pytest.mark.parametrize(
    ("address", "link", "forwarding"),
    [
        ("::1", "http://[::1]:9000/", "ssh -N -L 9000:[::1]:9000 HOST"),
        ("::", "http://[::1]:9000/", "ssh -N -L 9000:[::1]:9000 HOST"),
        ("192.0.2.1", "http://192.0.2.1:9000/", ""),
    ],
)
def test_the_link_has_the_address_of_the_port(address: str, link: str, forwarding: str) -> None:
    server = tensorboard(published(9000, 6006, address), "/logs", own_network=True)
    assert (server.address, server.forwarding(LOGIN)) == (link, forwarding)


def test_a_port_in_use_is_refused_with_a_free_one() -> None:
    with (
        serving(200) as port,
        pytest.raises(UsageError, match=f"^port {port} of this host .*: Address already") as error,
    ):
        check_is_free(published(port, 8888))
    [other] = re.findall(r"choose another one: -p (\d+)$", error.value.hint)
    check_is_free(published(int(other)))

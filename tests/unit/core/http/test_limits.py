"""Servers that are slow, endless, or send addresses that are none."""

from __future__ import annotations

import hashlib
import itertools
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from envbuilder.core.errors import SourceUnreachable, VerificationFailed
from envbuilder.core.http.connections import PlainConnection, PlainPool, WatchedResponse
from envbuilder.core.http.failures import CLOCK, NO_ADDRESS, words_of
from envbuilder.core.http.limits import (
    MOST_STALLS,
    MOST_WAITED,
    PROGRESS,
    WINDOW,
    Pace,
    Stalled,
    Tolerance,
    TooLong,
    whole,
)
from envbuilder.core.http.retries import Pacing
from envbuilder.core.http.web import Web
from envbuilder.lock.index.fetching import fetch, fetch_into
from envbuilder.lock.index.index import IndexFile
from envbuilder.oci.store import Store

NO_WAIT = Pacing(pause=lambda _seconds: None)


@contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that answers each connection as it likes; yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, suppress(OSError):
                        connection.recv(1 << 16)
                        answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def endless(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"10000\r\n" + bytes(1 << 16) + b"\r\n")


def saying(head: str) -> Callable[[socket.socket], None]:
    """Return an answer without a body, the last one of its connection: a client must not use that again."""
    return lambda connection: connection.sendall(f"HTTP/1.1 {head}\r\nConnection: close\r\n\r\n".encode("latin-1"))


def slow(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nx")
    connection.recv(1)  # until the client has gone away


def wanted(address: str, size: int = 0) -> IndexFile:
    return IndexFile(file="x.whl", sha256=hashlib.sha256(b"x").hexdigest(), url=f"{address}/x.whl", size=size)


def test_an_endless_body_ends_at_the_size_that_is_pinned_and_nothing_is_left(tmp_path: Path) -> None:
    seen: list[int] = []
    store = Store(folder=tmp_path)
    with answering(endless) as address, pytest.raises(VerificationFailed, match="more than 300000 bytes"):
        fetch_into(wanted(address, 300_000), store, web=Web({}), progress=lambda got, _: seen.append(got))
    assert max(seen) <= 300_000
    assert [part.stat().st_size for part in tmp_path.glob("parts/*")] == [0]
    assert not list(store.entries())


def test_a_body_that_is_announced_longer_than_its_pin_is_not_read(tmp_path: Path) -> None:
    with answering(saying("200 OK\r\nContent-Length: 300001")) as address, pytest.raises(VerificationFailed):
        fetch(wanted(address, 300_000), tmp_path, web=Web({}), progress=lambda *_: pytest.fail("it was read"))
    assert not list(tmp_path.iterdir())


def test_a_slow_server_is_given_up_after_two_tries(tmp_path: Path) -> None:
    clock = itertools.count(step=WINDOW).__next__
    pauses: list[float] = []
    with answering(slow) as address, pytest.raises(SourceUnreachable, match="only 1 bytes in 12 seconds"):
        fetch(wanted(address), tmp_path, web=Web({}, clock=clock), pacing=Pacing(pause=pauses.append))
    assert len(pauses) == 1


def test_a_server_that_was_given_up_is_not_asked_again(tmp_path: Path) -> None:
    web = Web({}, clock=itertools.count(step=WINDOW).__next__)
    with answering(slow) as address:
        for words in ("only 1 bytes", "too slow before"):
            with pytest.raises(SourceUnreachable, match=words):
                fetch(wanted(address), tmp_path, web=web, pacing=NO_WAIT)
    with answering(saying("200 OK\r\nContent-Length: 0")) as other, web.asked(other, {}) as answer:
        assert answer.status == 200


def test_transfers_that_break_off_together_are_one_stall() -> None:
    now = iter([0.0, 1.0, 20.0, 30.0])
    tolerance = Tolerance(lambda: next(now))
    for attempt in [tolerance.attempt("http://a:80"), tolerance.attempt("http://a:80")]:
        attempt.stalled()
    tolerance.attempt("http://a:80")


def test_a_server_that_stalls_again_and_again_is_given_up_although_it_answers_in_between() -> None:
    tolerance = Tolerance(itertools.count().__next__)
    for _ in range(MOST_STALLS):
        attempt = tolerance.attempt("http://a:80")
        attempt.moved(PROGRESS // MOST_STALLS - 1)
        attempt.stalled()
    with pytest.raises(Stalled, match="too slow before"):
        tolerance.attempt("http://a:80")
    tolerance.attempt("http://b:80")


def test_a_server_that_gets_on_between_its_stalls_is_asked_again() -> None:
    tolerance = Tolerance(itertools.count().__next__)
    for _ in range(MOST_STALLS + 1):
        attempt = tolerance.attempt("http://a:80")
        attempt.stalled()
        attempt.moved(PROGRESS)


def test_a_server_is_waited_for_no_longer_than_a_minute_in_all() -> None:
    now = [0.0]
    tolerance = Tolerance(lambda: now[0])
    granted = []
    for _ in range(4):
        granted.append(tolerance.granted("http://a:80", 25.0))
        now[0] += granted[-1]
    assert granted == [25.0, 25.0, 10.0, 0.0]
    assert tolerance.granted("http://b:80", 1e9) == MOST_WAITED


def test_waits_at_the_same_time_count_once() -> None:
    now = [0.0]
    tolerance = Tolerance(lambda: now[0])
    assert [tolerance.granted("http://a:80", 40.0) for _ in range(16)] == [40.0] * 16
    now[0] = 40.0
    assert [tolerance.granted("http://a:80", 40.0) for _ in range(2)] == [20.0] * 2


def test_a_pace_is_measured_anew_in_each_window() -> None:
    now = iter([0.0, 1.0, 12.0, 13.0, 24.0, 25.0])
    pace = Pace(lambda: next(now))
    pace.got(1)
    pace.got(1 << 20)  # 12 s are over; the next window begins at 13 s
    pace.got(1)
    with pytest.raises(Stalled):
        pace.got(1)


@pytest.mark.parametrize("asked", ["60", "9" * 5000])
def test_a_server_that_wants_us_to_wait_for_ever_is_given_up(asked: str, tmp_path: Path) -> None:
    now = [0.0]
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        now[0] += seconds

    busy = saying(f"429 Busy\r\nContent-Length: 0\r\nRetry-After: {asked}")
    with answering(busy) as address:
        web = Web({}, clock=lambda: now[0])
        for _ in range(3):  # one file after the other
            with pytest.raises(SourceUnreachable, match=f"{address} answers 429 and asks") as caught:
                fetch(wanted(address), tmp_path, web=web, pacing=Pacing(pause=pause))
            assert "--index" in caught.value.hint
    assert sum(pauses) == MOST_WAITED


@pytest.mark.parametrize("header", ["Retry-After: \xb2", "Content-Length: \xb2", f"Content-Length: {'9' * 5000}"])
def test_numbers_of_headers_that_are_none_are_no_fault_of_ours(header: str, tmp_path: Path) -> None:
    with answering(saying(f"503 Busy\r\n{header}")) as address, pytest.raises(SourceUnreachable):
        fetch(wanted(address), tmp_path, web=Web({}), pacing=NO_WAIT)


@pytest.mark.parametrize("place", ["http://[", "http://127.0.0.1:99999/", "http://[::1", "//a:b:c/", "http://1:x/"])
def test_a_redirect_to_no_address_is_told_as_such(place: str, tmp_path: Path) -> None:
    moved = saying(f"302 Found\r\nContent-Length: 0\r\nLocation: {place}")
    with answering(moved) as address, pytest.raises(SourceUnreachable, match=NO_ADDRESS):
        fetch(wanted(address), tmp_path, web=Web({}), pacing=NO_WAIT)


@pytest.mark.parametrize("url", ["http://[/x", "http://127.0.0.1:99999/x", f"http://{'a' * 70}.example/x"])
def test_an_address_that_is_none_is_told_as_such(url: str, tmp_path: Path) -> None:
    broken = IndexFile(file="x.whl", sha256="0" * 64, url=url)
    with pytest.raises(SourceUnreachable, match="fetched"):
        fetch(broken, tmp_path, web=Web({}), pacing=NO_WAIT)


def test_a_head_that_does_not_end_is_given_up_although_bytes_arrive() -> None:
    from urllib3 import Timeout  # noqa: PLC0415  as the code under test does
    from urllib3.exceptions import ReadTimeoutError  # noqa: PLC0415

    def dripping(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while not gone.wait(0.02):
            connection.sendall(b"X")

    gone = threading.Event()
    with answering(dripping) as address:
        host, _, port = address.removeprefix("http://").partition(":")
        with PlainPool(host, int(port)) as pool, pytest.raises(ReadTimeoutError):
            pool.request("GET", "/", retries=False, timeout=Timeout(connect=20, read=0.3))
        gone.set()


def test_an_answer_may_take_longer_to_begin_than_its_head_may_take() -> None:
    from urllib3 import Timeout  # noqa: PLC0415  as above
    from urllib3.exceptions import ReadTimeoutError  # noqa: PLC0415

    class Response(WatchedResponse):
        most = 0.5

    class Connection(PlainConnection):
        response_class = Response

    class Pool(PlainPool):
        ConnectionCls = Connection

    def late(connection: socket.socket) -> None:
        gone.wait(0.8)
        connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")

    def dripping(connection: socket.socket) -> None:
        while not gone.wait(0.02):
            connection.sendall(b"H")

    gone = threading.Event()
    patient = Timeout(connect=20, read=20)
    for serve, words in ((late, ""), (dripping, "timed out")):
        with answering(serve) as address:
            host, _, port = address.removeprefix("http://").partition(":")
            with Pool(host, int(port)) as pool:
                if not words:
                    assert pool.request("PUT", "/", retries=False, timeout=patient).status == 201
                    continue
                with pytest.raises(ReadTimeoutError, match=words):
                    pool.request("PUT", "/", retries=False, timeout=patient)
            gone.set()


def test_a_body_in_memory_has_a_limit() -> None:
    class Zeros:
        def read(self, size: int) -> bytes:
            return bytes(min(size, 7))

    with pytest.raises(TooLong, match="more than 100 bytes"):
        whole(Zeros(), 100)


@pytest.mark.parametrize("words", ["certificate has expired", "certificate is not yet valid"])
def test_a_certificate_of_another_time_is_told_as_a_question_of_the_clock(words: str) -> None:
    from urllib3.exceptions import SSLError  # noqa: PLC0415  as above

    assert words_of(SSLError(f"[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: {words}")) == CLOCK


def test_what_has_arrived_is_read_at_once_and_no_more_is_waited_for() -> None:
    near, far = socket.socketpair()
    with near, far:
        near.settimeout(10)
        far.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + bytes(40_000))
        response = WatchedResponse(near)
        response.begin()
        assert len(response.read1(1 << 20)) == 40_000
        far.sendall(bytes(30_000))
        assert (len(response.read1(10_000)), len(response.read1(1 << 20))) == (10_000, 20_000)


def test_a_body_that_ends_early_is_read_to_its_end() -> None:
    near, far = socket.socketpair()
    with near:
        with far:
            far.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + bytes(40_000))
        response = WatchedResponse(near)
        response.begin()
        assert [len(response.read1(1 << 20)) for _ in range(2)] == [40_000, 0]


def test_no_more_than_a_limit_is_added_to_what_was_read() -> None:
    near, far = socket.socketpair()
    with near, far:
        far.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + bytes(150_000))
        response = WatchedResponse(near)
        response.begin()  # reads a few bytes of the body, too
        assert [len(response.read1(1 << 20)) for _ in range(2)] == [64 << 10, 150_000 - (64 << 10)]

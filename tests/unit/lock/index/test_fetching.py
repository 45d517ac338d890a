"""A file is fetched by hash from a real server on loopback: whole, resumed, refused."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from envbuilder.core.errors import SourceUnreachable, VerificationFailed
from envbuilder.core.http.retries import Pacing
from envbuilder.core.http.web import Web
from envbuilder.lock.index.fetching import fetch, fetch_into, length_of
from envbuilder.lock.index.index import IndexFile
from envbuilder.oci.store import Store
from tests.fakes.loopback_server import LoopbackServer

WEB = Web({})
CONTENT = bytes(range(256)) * 20_000


class Server(LoopbackServer):
    """Serves `CONTENT`; `cuts` connections break in the middle, and ranges can be unknown to it."""

    cuts = 0
    ranges = True
    status = 200
    faults: list[int]
    damaged = 0
    asked: list[str]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.headers.get("Range") or "all")
        if self.path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", f"{self.server.address}/there/x.whl")
            self.end_headers()
            return
        if self.server.faults:
            self.send_response(self.server.faults.pop())
            self.send_header("Retry-After", "7")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if self.server.status != 200:
            self.send_error(self.server.status)
            return
        start = int((self.headers.get("Range") or "bytes=0-")[6:-1]) if self.server.ranges else 0
        body = CONTENT[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.server.cuts:
            self.server.cuts -= 1
            body = body[: len(body) // 2]
        if self.server.damaged:
            self.server.damaged -= 1
            body = body[:-1] + b"?"
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class names it
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Handler)
    made.asked = []
    made.faults = []
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def wanted(address: str, *, sha256: str = "") -> IndexFile:
    digest = sha256 or hashlib.sha256(CONTENT).hexdigest()
    return IndexFile(file="x.whl", sha256=digest, url=f"{address}/there/x.whl")


NO_WAIT = Pacing(pause=lambda _seconds: None)


def test_a_file_arrives_whole_and_its_progress_is_told(server: Server, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    path = fetch(wanted(server.address), tmp_path, progress=lambda done, whole: told.append((done, whole)), web=WEB)
    assert path == tmp_path / "x.whl"
    assert path.read_bytes() == CONTENT
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_a_broken_connection_is_taken_up_where_it_broke(server: Server, tmp_path: Path) -> None:
    server.cuts = 2
    assert fetch(wanted(server.address), tmp_path, pacing=NO_WAIT, web=WEB).read_bytes() == CONTENT
    assert server.asked[0] == "all"
    assert all(asked.startswith("bytes=") for asked in server.asked[1:])


def test_a_server_without_ranges_sends_all_of_it_again(server: Server, tmp_path: Path) -> None:
    server.cuts, server.ranges = 1, False
    assert fetch(wanted(server.address), tmp_path, pacing=NO_WAIT, web=WEB).read_bytes() == CONTENT


def test_a_server_that_always_breaks_is_unreachable_and_nothing_is_left(server: Server, tmp_path: Path) -> None:
    server.cuts = 99
    waited: list[float] = []
    with pytest.raises(SourceUnreachable, match=r"x\.whl cannot be fetched: "):
        fetch(wanted(server.address), tmp_path, pacing=Pacing(pause=waited.append, jitter=lambda: 1.0), web=WEB)
    assert waited[-4:] == [0.5, 1.0, 2.0, 4.0]
    assert not list(tmp_path.iterdir())


def test_another_file_under_the_name_is_refused_and_nothing_is_left(server: Server, tmp_path: Path) -> None:
    with pytest.raises(VerificationFailed, match="not 0000"):
        fetch(wanted(server.address, sha256="0" * 64), tmp_path, web=WEB)
    assert not list(tmp_path.iterdir())


def test_a_file_that_the_server_does_not_have_is_not_asked_for_twice(server: Server, tmp_path: Path) -> None:
    server.status = 404
    with pytest.raises(SourceUnreachable, match="the server answers 404"):
        fetch(wanted(server.address), tmp_path, pacing=NO_WAIT, web=WEB)
    assert len(server.asked) == 1


def test_a_server_in_trouble_is_asked_again(server: Server, tmp_path: Path) -> None:
    server.status = 503
    with pytest.raises(SourceUnreachable, match="the server answers 503"):
        fetch(wanted(server.address), tmp_path, pacing=NO_WAIT, web=WEB)
    assert len(server.asked) > 1


def test_a_redirect_is_followed(server: Server, tmp_path: Path) -> None:
    moved = IndexFile(file="x.whl", sha256=hashlib.sha256(CONTENT).hexdigest(), url=f"{server.address}/moved/x.whl")
    assert fetch(moved, tmp_path, web=WEB).read_bytes() == CONTENT


def test_a_local_file_is_fetched_too(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    source = tmp_path / "from" / "x.whl"
    source.write_bytes(CONTENT)
    local = IndexFile(file="x.whl", sha256=hashlib.sha256(CONTENT).hexdigest(), url=source.as_uri())
    assert fetch(local, tmp_path, web=WEB).read_bytes() == CONTENT


def test_a_local_file_that_is_missing_is_not_tried_again(tmp_path: Path) -> None:
    pauses: list[float] = []
    missing = IndexFile(file="x.whl", sha256="0" * 64, url=(tmp_path / "x.whl").as_uri())
    with pytest.raises(SourceUnreachable, match=r"x\.whl cannot be fetched: .*No such file"):
        fetch(missing, tmp_path, web=WEB, pacing=Pacing(pause=pauses.append))
    assert not pauses


def test_an_address_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreachable, match="not one that can be fetched"):
        fetch(IndexFile(file="x.whl", sha256="0" * 64, url="data:,x"), tmp_path, web=WEB)


def test_nobody_who_answers_is_unreachable(server: Server, tmp_path: Path) -> None:
    address = server.address
    server.shutdown()
    server.server_close()
    with pytest.raises(SourceUnreachable, match=r"next|cannot be fetched"):
        fetch(wanted(address), tmp_path, pacing=NO_WAIT, web=WEB)


DIGEST = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


def test_a_store_gets_a_file_once(server: Server, tmp_path: Path) -> None:
    store = Store(folder=tmp_path)
    fetch_into(wanted(server.address), store, web=WEB)
    fetch_into(wanted(server.address), store, web=WEB)
    assert store.read(DIGEST) == CONTENT
    assert server.asked == ["all"]


@pytest.mark.parametrize("fault", [429, 500, 503])
def test_a_server_that_is_busy_is_asked_again_when_it_says(server: Server, tmp_path: Path, fault: int) -> None:
    server.faults = [fault, fault]
    pauses: list[float] = []
    fetch_into(wanted(server.address), Store(folder=tmp_path), pacing=Pacing(pause=pauses.append), web=WEB)
    assert pauses == [7.0, 7.0]


def test_a_server_that_stays_busy_is_given_up(server: Server, tmp_path: Path) -> None:
    server.faults = [503] * 9
    with pytest.raises(SourceUnreachable, match="answers 503"):
        fetch_into(wanted(server.address), Store(folder=tmp_path), pacing=NO_WAIT, web=WEB)


def test_a_truncated_download_is_taken_up_by_the_next_run(server: Server, tmp_path: Path) -> None:
    store = Store(folder=tmp_path)
    server.cuts = 99
    with pytest.raises(SourceUnreachable):
        fetch_into(wanted(server.address), store, pacing=NO_WAIT, web=WEB)
    assert not store.has(DIGEST)
    server.cuts = 0
    server.asked.clear()
    fetch_into(wanted(server.address), store, web=WEB)
    assert store.read(DIGEST) == CONTENT
    assert server.asked[0].startswith("bytes=")


def test_a_damaged_download_is_fetched_once_more_and_never_kept(server: Server, tmp_path: Path) -> None:
    store = Store(folder=tmp_path)
    server.damaged = 1
    fetch_into(wanted(server.address), store, web=WEB)
    assert store.read(DIGEST) == CONTENT
    store.remove(DIGEST)
    server.damaged = 2
    with pytest.raises(VerificationFailed, match=r"x\.whl: the downloaded content has the digest"):
        fetch_into(wanted(server.address), store, web=WEB)
    assert not list(store.entries())


def test_what_is_left_of_another_file_is_thrown_away(server: Server, tmp_path: Path) -> None:
    store = Store(folder=tmp_path)
    with pytest.raises(ConnectionError), store.receiving(DIGEST) as receiver:  # noqa: PT012  the block is what fails
        assert receiver is not None
        receiver.write(b"?" * 1000)
        raise ConnectionError
    fetch_into(wanted(server.address), store, web=WEB)
    assert store.read(DIGEST) == CONTENT


def test_a_local_file_is_taken_too(tmp_path: Path) -> None:
    (tmp_path / "x.whl").write_bytes(CONTENT)
    store = Store(folder=tmp_path / "store")
    fetch_into(IndexFile(file="x.whl", sha256=DIGEST[7:], url=(tmp_path / "x.whl").as_uri()), store, web=WEB)
    assert store.read(DIGEST) == CONTENT


def test_a_server_that_knows_no_head_gives_no_length(server: Server) -> None:
    assert length_of(wanted(server.address), WEB) == 0
    assert length_of(IndexFile(file="x", sha256="", url="", size=5), WEB) == 5

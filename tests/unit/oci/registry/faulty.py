"""A registry on loopback that is as bad as a test wants it: it fails, lies, breaks off and forgets."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

_UPLOAD = re.compile(r"/v2/(?P<name>.+)/blobs/uploads/(?P<id>\w*)")
_BLOB = re.compile(r"/v2/(?P<name>.+)/blobs/(?P<digest>sha256:\w+)")
_MANIFEST = re.compile(r"/v2/(?P<name>.+)/manifests/(?P<tag>.+)")


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A request as it came in."""

    method: str
    path: str
    headers: Mapping[str, str]

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(slots=True, kw_only=True)
class Fault:
    """What goes wrong with the next `times` requests whose line matches.

    `status` answers so at once; `reset_after` breaks the connection after so many bytes of the request's body, which
    the registry keeps; `cut` breaks it after so many bytes of the answer, and with 0 before the answer to an upload's
    end; `damage` changes what is given; `forget` drops all uploads; `lie` announces that many bytes more or less than
    there are; `act` is called.
    """

    match: str
    times: int = 1
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    reset_after: int = -1
    cut: int = -1
    damage: bool = False
    forget: bool = False
    lie: int = 0
    act: Callable[[], None] = lambda: None


@dataclass(slots=True)
class Upload:
    """Bytes that a client has sent so far."""

    name: str
    content: bytearray = field(default_factory=bytearray)


class Registry(ThreadingHTTPServer):
    """What an in-memory registry knows.

    Attributes:
        blobs: `(repository, digest)` to content.
        manifests: `(repository, tag or digest)` to media type and content.
        uploads: By id.
        faults: Used up in order.
        seen: Every request.
        tokens: Bearer tokens that are good; None asks for none.
        login: `Authorization` that the token service, or with `basic` the registry, wants; empty for none.
        ranges: Whether parts of blobs are given.
        mounts: Whether blobs are taken from other repositories.
        referrers: Whether it keeps the list of what refers to an image.
        tells_digest: Whether it says under which digest it knows a manifest.
        wrong_digest: Told instead of the right one, when not empty.
        elsewhere: Address that blobs are redirected to.
        uploads_at: Address that uploads go to.
        smallest_piece: Told as `OCI-Chunk-Min-Length`; 0 for not.
        left: Set when a client has left in the middle of a request.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.blobs: dict[tuple[str, str], bytes] = {}
        self.manifests: dict[tuple[str, str], tuple[str, bytes]] = {}
        self.uploads: dict[str, Upload] = {}
        self.faults: list[Fault] = []
        self.seen: list[Seen] = []
        self.tokens: set[str] | None = None
        self.issued = 0
        self.life = 300
        self.login = ""
        self.basic = False
        self.ranges = True
        self.mounts = True
        self.referrers = True
        self.tells_digest = True
        self.wrong_digest = ""
        self.elsewhere = ""
        self.uploads_at = ""
        self.smallest_piece = 0
        self.left = threading.Event()
        self.bugs: list[object] = []
        self.lock = threading.Lock()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def put_blob(self, name: str, content: bytes) -> str:
        self.blobs[name, sha256(content)] = content
        return sha256(content)

    def put_manifest(self, name: str, tag: str, media_type: str, value: object) -> str:
        content = json.dumps(value).encode()
        for key in (tag, sha256(content)):
            self.manifests[name, key] = (media_type, content)
        return sha256(content)

    def lines(self, match: str = "") -> list[str]:
        return [seen.line for seen in self.seen if re.search(match, seen.line)]

    def fault_for(self, line: str) -> Fault:
        with self.lock:
            for fault in self.faults:
                if fault.times and re.search(fault.match, line):
                    fault.times -= 1
                    fault.act()
                    return fault
        return Fault(match="")

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002  the base class's
        """Connections that are broken on purpose are no news; anything else is a fault of this file."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            self.bugs.append(error)


class Handler(BaseHTTPRequestHandler):
    server: Registry
    protocol_version = "HTTP/1.1"
    fault: Fault

    def handle_any(self) -> None:
        line = f"{self.command} {self.path}"
        self.server.seen.append(Seen(method=self.command, path=self.path, headers=dict(self.headers.items())))
        self.fault = self.server.fault_for(line)
        if self.fault.forget:
            self.server.uploads.clear()
        if self.fault.status:
            self.close_connection = True
            self.answer(self.fault.status, self.fault.body, *self.fault.headers)
            return
        if urlsplit(self.path).path == "/token":
            self.give_token()
            return
        if self.allowed():
            self.route()

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815  the base class's names

    def allowed(self) -> bool:
        shown = self.headers.get("Authorization", "")
        if self.server.basic:
            good = shown == self.server.login
            challenge = 'Basic realm="registry"'
        else:
            good = self.server.tokens is None or shown.removeprefix("Bearer ") in self.server.tokens
            challenge = f'Bearer realm="http://{self.server.host}/token",service="test",scope="repository:asked:pull"'
        if not good:
            self.close_connection = True  # the body was not read
            error = {"errors": [{"code": "UNAUTHORIZED", "message": f"not with {shown}"}]}
            self.answer(401, json.dumps(error).encode(), ("WWW-Authenticate", challenge))
        return good

    def give_token(self) -> None:
        form = self.body().decode()
        shown = parse_qs(form).get("refresh_token", [""])[0] or self.headers.get("Authorization", "")
        if self.server.login and shown != self.server.login:
            self.answer(401, json.dumps({"errors": [{"code": "DENIED", "message": f"who is {shown}?"}]}).encode())
            return
        assert self.server.tokens is not None
        with self.server.lock:
            self.server.issued += 1
            token = f"token-{self.server.issued}"
            self.server.tokens.add(token)
        self.answer(200, json.dumps({"token": token, "expires_in": self.server.life}).encode())

    def route(self) -> None:
        path = urlsplit(self.path).path
        if found := _UPLOAD.fullmatch(path):
            self.upload(found["name"], found["id"])
        elif found := _BLOB.fullmatch(path):
            self.give_blob(found["name"], found["digest"])
        elif found := _MANIFEST.fullmatch(path):
            (self.take_manifest if self.command == "PUT" else self.give_manifest)(found["name"], found["tag"])
        else:
            self.answer(200 if path == "/v2/" else 404)

    def upload(self, name: str, identity: str) -> None:
        query = parse_qs(urlsplit(self.path).query)
        if self.command == "POST":
            self.begin(name, query)
            return
        upload = self.server.uploads.get(identity)
        if upload is None:
            self.body()
            self.answer(404, b'{"errors":[{"code":"BLOB_UPLOAD_UNKNOWN","message":"no such upload"}]}')
            return
        if self.command == "PATCH":
            start = int(self.headers["Content-Range"].partition("-")[0])
            if start != len(upload.content):
                self.body()
                self.answer(416)
                return
            self.receive(upload)
        place = (("Location", f"/v2/{name}/blobs/uploads/{identity}?state=s"),)
        if self.command == "PUT":
            self.commit(name, identity, query["digest"][0])
        elif self.command == "DELETE":
            del self.server.uploads[identity]
            self.answer(204)
        else:
            end = max(len(upload.content) - 1, 0)
            self.answer(202 if self.command == "PATCH" else 204, b"", *place, ("Range", f"0-{end}"))

    def begin(self, name: str, query: Mapping[str, list[str]]) -> None:
        wanted = (query.get("from", [""])[0], query.get("mount", [""])[0])
        if self.server.mounts and wanted in self.server.blobs:
            self.server.blobs[name, wanted[1]] = self.server.blobs[wanted]
            self.answer(201)
            return
        with self.server.lock:
            identity = f"u{len(self.server.seen)}x{len(self.server.uploads)}"
            self.server.uploads[identity] = Upload(name)
        base = self.server.uploads_at or f"http://{self.server.host}"
        smallest = str(self.server.smallest_piece)
        told = (("OCI-Chunk-Min-Length", smallest),) if self.server.smallest_piece else ()
        self.answer(202, b"", ("Location", f"{base}/v2/{name}/blobs/uploads/{identity}?state=s"), *told)

    def receive(self, upload: Upload) -> None:
        left = int(self.headers["Content-Length"])
        stop = self.fault.reset_after
        while left:
            room = left if stop < 0 else min(left, stop)
            data = self.data(min(room, 65536))
            upload.content += data
            left -= len(data)
            stop = stop - len(data) if stop >= 0 else stop
            if stop == 0:
                self.reset()

    def data(self, most: int) -> bytes:
        """The next bytes of a body."""
        data = b""
        with suppress(ConnectionResetError):
            data = self.rfile.read(most)
        if not data:
            self.server.left.set()
            raise ConnectionResetError
        return data

    def reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        raise ConnectionResetError

    def commit(self, name: str, identity: str, digest: str) -> None:
        content = bytes(self.server.uploads.pop(identity).content)
        if sha256(content) != digest:
            self.answer(400, b'{"errors":[{"code":"DIGEST_INVALID","message":"other content"}]}')
            return
        self.server.put_blob(name, content)
        if self.fault.cut == 0:
            self.reset()
        self.answer(201, b"", ("Docker-Content-Digest", digest))

    def give_blob(self, name: str, digest: str) -> None:
        content = self.server.blobs.get((name, digest))
        if content is None:
            self.answer(404, b'{"errors":[{"code":"BLOB_UNKNOWN","message":"no such blob"}]}')
            return
        if self.server.elsewhere and self.command == "GET":
            self.answer(307, b"", ("Location", f"{self.server.elsewhere}{self.path}"))
            return
        asked = self.headers.get("Range", "") if self.server.ranges else ""
        start = int(asked[6:-1]) if asked else 0
        given = content[start:]
        if self.fault.damage:
            given = b"?" + given[1:]
        span = (("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}"),) if asked else ()
        self.answer(206 if asked else 200, given, *span)

    def give_manifest(self, name: str, tag: str) -> None:
        found = self.server.manifests.get((name, tag))
        if found is None:
            self.answer(404, b'{"errors":[{"code":"MANIFEST_UNKNOWN","message":"no such manifest"}]}')
            return
        content = found[1] + b" " if self.fault.damage else found[1]
        told = (("Docker-Content-Digest", sha256(found[1])),) if self.server.tells_digest else ()
        self.answer(200, content, ("Content-Type", found[0]), *told)

    def take_manifest(self, name: str, tag: str) -> None:
        content = self.body()
        digest = sha256(content)
        for key in {tag, digest}:
            self.server.manifests[name, key] = (self.headers["Content-Type"], content)
        subject = json.loads(content).get("subject", {}).get("digest", "")
        listed = (("OCI-Subject", subject),) if subject and self.server.referrers else ()
        told = (("Docker-Content-Digest", self.server.wrong_digest or digest),) if self.server.tells_digest else ()
        self.answer(201, b"", *told, *listed)

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, status: int, body: bytes = b"", *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        if status != 204:
            self.send_header("Content-Length", str(len(body) + self.fault.lie))
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.fault.cut >= 0:
            self.wfile.write(body[: self.fault.cut])
            self.close_connection = True
        else:
            with suppress(BrokenPipeError, ConnectionResetError):
                self.wfile.write(body)
        if self.fault.lie:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class names it
        """Say nothing."""


@contextmanager
def serving() -> Iterator[Registry]:
    """A registry that answers until the block ends."""
    registry = Registry()
    thread = threading.Thread(target=registry.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield registry
    finally:
        registry.shutdown()
        thread.join()
        registry.server_close()
    assert registry.bugs == []

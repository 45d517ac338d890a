"""Single files of a wheel are read by ranges, and a server that ignores them is refused."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from envbuilder.core.errors import SourceUnreachable
from envbuilder.lock.index.index import IndexFile
from tests.fakes.index import FakeIndex
from tools.remote_wheel import RangedFile, linux_wheel, open_wheel


@dataclass
class _Answer:
    status: int
    data: io.BytesIO
    headers: Mapping[str, str] = field(default_factory=dict)

    def read(self, size: int) -> bytes:
        return self.data.read(min(size, 1000))


@dataclass
class FakeServer:
    """Serves one file, by ranges where it knows them."""

    content: bytes
    knows_ranges: bool = True
    sent: int = 0

    @contextmanager
    def asked(self, url: str, headers: Mapping[str, str]) -> Iterator[_Answer]:
        assert url == "memory:wheel"
        if not self.knows_ranges:
            yield _Answer(200, io.BytesIO(self.content))
            return
        first, _, last = headers["Range"].removeprefix("bytes=").partition("-")
        piece = self.content[int(first) : int(last) + 1]
        self.sent += len(piece)
        yield _Answer(206, io.BytesIO(piece))


def wheel() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("tensorflow/libtensorflow.so", bytes(5_000_000))
        archive.writestr("tensorflow/__init__.py", "VERSION = 1")
    return buffer.getvalue()


def file(content: bytes) -> IndexFile:
    return IndexFile(file="x.whl", sha256="0" * 64, url="memory:wheel", size=len(content))


def test_a_small_file_is_read_without_the_large_one_beside_it() -> None:
    content = wheel()
    server = FakeServer(content)
    assert open_wheel(server, file(content)).read("tensorflow/__init__.py") == b"VERSION = 1"
    assert server.sent < len(content) / 2


def test_every_byte_can_be_sought() -> None:
    stream = RangedFile(FakeServer(b"0123456789"), "memory:wheel", 10)
    assert stream.read(3) == b"012"
    assert (stream.seek(-2, io.SEEK_END), stream.read(), stream.read()) == (8, b"89", b"")


def test_a_server_without_ranges_is_refused() -> None:
    content = wheel()
    with pytest.raises(SourceUnreachable, match="HTTP status 200"):
        open_wheel(FakeServer(content, knows_ranges=False), file(content))


def test_a_release_without_a_linux_wheel_is_refused() -> None:
    with pytest.raises(SourceUnreachable, match="has no Linux wheel"):
        linux_wheel(FakeIndex(), "tensorflow", "0.1")

"""The registry that counts what a lazy start reads."""

from __future__ import annotations

import http.client
from pathlib import Path

import pytest

from tools.lazy_start.registry import Registry, Seen, content, requested, serving

CONTENT = bytes(range(256))
DIGEST = "sha256:" + "ab" * 32


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    (tmp_path / DIGEST.removeprefix("sha256:")).write_bytes(CONTENT)
    return Registry(blobs=tmp_path, delay=0.0)


def answer(port: int, method: str, digest: str, ranges: str = "") -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, f"/v2/image/blobs/{digest}", headers={"Range": ranges} if ranges else {})
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def test_requests_and_bytes_of_contents_are_counted(registry: Registry) -> None:
    with serving(registry) as port:
        assert answer(port, "GET", DIGEST)[::2] == (200, CONTENT)
        assert answer(port, "GET", DIGEST, "bytes=3-5")[::2] == (206, CONTENT[3:6])
        status, headers, body = answer(port, "HEAD", DIGEST)
        assert (status, headers["Content-Length"], body) == (200, "256", b"")
        assert answer(port, "GET", "sha256:" + "00" * 32)[0] == 404
    assert registry.seen() == {DIGEST: Seen(requests=3, sent=259)}


def test_several_ranges_are_parts_of_one_answer(registry: Registry) -> None:
    with serving(registry) as port:
        status, headers, body = answer(port, "GET", DIGEST, "bytes=0-1,250-")
    assert (status, headers.get_content_type()) == (206, "multipart/byteranges")
    texts = body.split(f"--{headers.get_param('boundary')}".encode())
    assert [text.strip(b"\r\n") for text in texts] == [
        b"",
        b"Content-Range: bytes 0-1/256\r\n\r\n\x00\x01",
        b"Content-Range: bytes 250-255/256\r\n\r\n" + CONTENT[250:],
        b"--",
    ]
    assert registry.seen() == {DIGEST: Seen(requests=1, sent=8)}


def test_a_range_ends_with_the_file() -> None:
    assert requested("bytes=8-100", 10) == [(8, 2)]
    assert content([], 10)[1] == [(0, 10)]

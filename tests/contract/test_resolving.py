"""The real uv on an index of this machine: one TensorFlow is resolved, and its version is checked."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from envbuilder.errors import ResolutionFailed
from envbuilder.locking.resolver import Resolution
from envbuilder.locking.uv_resolver import UvResolver
from envbuilder.model.versions import Release
from tests.fakes.resolver import made_up_sha256

UV = Path(sys.executable).parent / "uv"
DAY = "2024-01-01T00:00:00Z"
RELEASES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "tensorflow": {"2.15.1": (), "2.16.1": ()},
    "tensorflow-cpu": {"2.15.1": ("numpy",)},
    "tensorflow-text": {"2.15.0": ("tensorflow>=2.15.0,<2.16",), "2.16.1": ("tensorflow>=2.16.1,<2.17",)},
    "tf-models": {"1.0": ("tensorflow-gpu[and-cuda]>=2.4", "tensorflow-text")},
    "numpy": {"1.26.4": ()},
}
"""Requirements of each release of each distribution."""


def _handler() -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """The simple API as JSON, with upload times and metadata; the wheels themselves are never asked for."""

        def do_GET(self) -> None:
            kind, content = self._answer(self.path.strip("/").split("/"))
            self.send_response(200 if content else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _answer(self, parts: list[str]) -> tuple[str, bytes]:
            name, file = parts[-2:]
            if parts[0] == "simple" and file in RELEASES:
                files = [_file(file, version) for version in RELEASES[file]]
                page = {"meta": {"api-version": "1.1"}, "name": file, "files": files}
                return "application/vnd.pypi.simple.v1+json", json.dumps(page).encode()
            if file.endswith(".metadata") and name in RELEASES:
                version = file.split("-")[1]
                needs = "".join(f"Requires-Dist: {each}\n" for each in RELEASES[name][version])
                return "text/plain", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}".encode()
            return "text/plain", b""

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  named by the base class
            """Keep the output of the tests clean."""

    return Handler


def _file(name: str, version: str) -> dict[str, object]:
    file = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    hashes = {"sha256": made_up_sha256(file)}
    return {
        "filename": file,
        "url": f"/files/{name}/{file}",
        "hashes": hashes,
        "upload-time": DAY,
        "core-metadata": True,
    }


@contextmanager
def index() -> Iterator[str]:
    """Run the index; gives its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler()) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/simple"
        finally:
            server.shutdown()
            thread.join()


def resolved(folder: Path, *requirements: str) -> dict[str, str]:
    """Resolve beside tensorflow-cpu 2.15.1, which stands for the other distributions of TensorFlow."""
    wanted = Resolution(
        python=Release("3.11"),
        glibc=Release("2.36"),
        requirements=("tensorflow-cpu==2.15.1", *requirements),
        cutoff=date(2024, 6, 1),
        provided=("tensorflow-gpu==2.15.1", "tensorflow==2.15.1", "tf-nightly==2.15.1"),
    )
    with index() as address:
        resolver = UvResolver(uv=UV, cache=folder / "cache", environ={"PATH": "/usr/bin:/bin"}, index=address)
        return {each.name: each.version for each in resolver.resolve(wanted)}


def test_a_package_that_needs_tensorflow_gets_the_release_for_that_of_the_row(tmp_path: Path) -> None:
    found = resolved(tmp_path, "tensorflow-text")
    assert found == {"numpy": "1.26.4", "tensorflow-cpu": "2.15.1", "tensorflow-text": "2.15.0"}


def test_every_name_of_tensorflow_is_provided_through_all_levels_and_extras(tmp_path: Path) -> None:
    assert "tensorflow" not in resolved(tmp_path, "tf-models") | resolved(tmp_path, "tensorflow==2.15.1", "tf-nightly")


def test_a_package_for_another_release_is_refused_with_both(tmp_path: Path) -> None:
    with pytest.raises(ResolutionFailed) as caught:
        resolved(tmp_path, "tensorflow-text==2.16.1")
    assert "the environment has TensorFlow 2.15.1" in caught.value.message
    assert "tensorflow>=2.16.1,<2.17" in caught.value.message

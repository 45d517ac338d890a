"""The real uv on an index of this machine: one TensorFlow is resolved, and its version is checked."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from envbuilder.core.errors import ResolutionFailed
from envbuilder.core.uv import Uv
from envbuilder.core.versions import Release
from envbuilder.lock.resolve.resolver import Resolution
from envbuilder.lock.resolve.uv_resolver import UvResolver
from envbuilder.oci.runtime.interpreter_guard import Guard
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


BACKEND = """
import os, pathlib, socket

def prepare_metadata_for_build_wheel(directory, settings=None):
    seen = [str(path) for path in map(pathlib.Path, {paths!r}) if path.exists()]
    seen += [name for name in os.environ if name.startswith(("UV_", "SECRET"))]
    try:
        socket.create_connection(("127.0.0.1", {port}), 2)
        seen.append("network")
    except OSError:
        pass
    try:
        os.unshare(0x10000000) if hasattr(os, "unshare") else 1 / 0
        seen.append("namespace")
    except (OSError, ZeroDivisionError):
        pass
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    seen += [name for name in ("CapEff", "CapBnd") if int(status[name], 16)]
    assert not seen, seen
    info = pathlib.Path(directory, "toy-1.0.dist-info")
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\\nName: toy\\nVersion: 1.0\\nRequires-Dist: numpy\\n")
    (info / "WHEEL").write_text("Wheel-Version: 1.0\\n")
    return info.name

def build_wheel(*arguments):
    raise AssertionError("only metadata is wanted")
"""
SDISTS: dict[str, bytes] = {}


def _sdist(paths: list[str], port: int) -> bytes:
    """A source distribution whose build fails when it sees what it should not."""
    files = {
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
        "backend.py": BACKEND.format(paths=paths, port=port),
        "PKG-INFO": "Metadata-Version: 1.0\nName: toy\nVersion: 1.0\n",
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(f"toy-1.0/{name}")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return packed.getvalue()


def _sdist_entry(name: str) -> dict[str, object]:
    file = f"{name}-1.0.tar.gz"
    hashes = {"sha256": hashlib.sha256(SDISTS[name]).hexdigest()}
    return {"filename": file, "url": f"/files/{name}/{file}", "hashes": hashes, "upload-time": DAY}


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
            if parts[0] == "simple" and (file in RELEASES or file in SDISTS):
                files = [_file(file, version) for version in RELEASES.get(file, ())]
                files += [_sdist_entry(file)] if file in SDISTS else []
                page = {"meta": {"api-version": "1.1"}, "name": file, "files": files}
                return "application/vnd.pypi.simple.v1+json", json.dumps(page).encode()
            if file.endswith(".metadata") and name in RELEASES:
                version = file.split("-")[1]
                needs = "".join(f"Requires-Dist: {each}\n" for each in RELEASES[name][version])
                return "text/plain", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}".encode()
            if file.endswith(".tar.gz") and name in SDISTS:
                return "application/gzip", SDISTS[name]
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


def unused(guard: Guard) -> Callable[[], Guard]:
    """A guard that must not be asked for."""

    def refuse() -> Guard:
        raise AssertionError(f"{guard} is not needed without source distributions")

    return refuse


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
        environ = {"PATH": "/usr/bin:/bin"}
        resolver = UvResolver(
            uv=Uv(program=UV, cache=folder / "cache", environ=environ, index=address), guard=unused(Guard(work=folder))
        )
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


def test_the_build_script_of_a_source_distribution_runs_in_a_sandbox(tmp_path: Path) -> None:
    """It has no network, sees neither files nor variables of the caller, and has no capabilities."""
    secret = tmp_path / "secret"
    secret.write_text("secret")
    wanted = Resolution(
        python=Release("3.11"),
        glibc=Release("2.36"),
        requirements=("toy",),
        cutoff=date(2024, 6, 1),
        source_builds=("toy",),
    )
    with index() as address:
        port = int(address.split(":")[2].partition("/")[0])
        SDISTS["toy"] = _sdist([str(secret), str(Path.home() / ".bashrc"), "/run/docker.sock", str(UV)], port)
        resolver = UvResolver(
            uv=Uv(
                program=UV,
                cache=tmp_path / "cache",
                environ={"PATH": "/usr/bin:/bin", "SECRET_TOKEN": "x"},
                index=address,
            ),
            guard=lambda: Guard(work=tmp_path / "work"),
        )
        found = {each.name: each.version for each in resolver.resolve(wanted)}
    assert found == {"numpy": "1.26.4", "toy": "1.0"}
    assert list((tmp_path / "work").iterdir()) == []

"""A bundle has every file of its lock, also after the cache was pruned."""

from __future__ import annotations

import hashlib
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

import pytest

from envbuilder.catalog.environments import PythonProvider
from envbuilder.core.versions import Release
from envbuilder.image.base.tree_store import DebianStore
from envbuilder.lock.lock import Lock, OsPackagePin, PythonPin
from envbuilder.lock.lockfile import dump
from envbuilder.lock.spec_values import OwnFile
from tests.fakes.catalogs import good_lock
from tests.unit.cli.running import CommandLine
from tests.unit.image.base.test_tree_store import tree_in

DEBS = {"libc6": b"a .deb" * 99, "python3": b"another .deb" * 99}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[str]:
    """A Debian archive with two packages."""
    for name, content in DEBS.items():
        path = tmp_path / "archive" / "pool" / f"{name}.deb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    with HTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "archive"))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def lock(envbuilder: CommandLine) -> Lock:
    """A lock whose base is in the cache, and whose packages are not."""
    pins = tuple(
        OsPackagePin(
            name=name,
            version="1.0",
            sha256=hashlib.sha256(content).hexdigest(),
            file=f"pool/{name}.deb",
            size=len(content),
        )
        for name, content in DEBS.items()
    )
    good = good_lock()
    tree = tree_in(envbuilder.folder / "making", b"a tree")
    kept = DebianStore(envbuilder.folder / "cache" / "bases").put(replace(tree, id=good.base.id))
    return replace(
        good,
        base=replace(good.base, digest=kept.digest, packages=pins),
        python=PythonPin(version=Release("3.8"), provider=PythonProvider.OS),
        os_packages=(),
        packages=(),
        files=(),
        tools=(),
        image=None,
        inputs=(),
    )


def test_packages_of_the_base_that_are_not_in_the_store_are_fetched(
    envbuilder: CommandLine, lock: Lock, mirror: str
) -> None:
    envbuilder.write("x.lock", dump(lock))
    for _ in range(2):
        ended = envbuilder("bundle", "x.lock", "-o", "x.bundle", "--debian-mirror", mirror)
        assert (ended.status, "Traceback" in ended.stderr) == (0, False), ended.stderr
        with tarfile.open(envbuilder.folder / "x.bundle") as bundle:
            names = set(bundle.getnames())
        assert {f"sha256/{hashlib.sha256(content).hexdigest()}" for content in DEBS.values()} <= names
        assert envbuilder("cache", "prune").status == 0


def test_a_package_that_the_mirror_does_not_have_is_named(envbuilder: CommandLine, lock: Lock, mirror: str) -> None:
    gone = replace(lock.base.packages[0], file="pool/gone.deb")
    envbuilder.write("x.lock", dump(replace(lock, base=replace(lock.base, packages=(gone,)))))
    ended = envbuilder("bundle", "x.lock", "-o", "x.bundle", "--debian-mirror", mirror)
    assert ended.status == 5
    assert "gone.deb" in ended.stderr
    assert not (envbuilder.folder / "x.bundle").exists()


def test_a_file_that_nobody_has_is_named(envbuilder: CommandLine, lock: Lock, mirror: str) -> None:
    own = OwnFile(path="/app/model.bin", sha256="01" * 32, size=1)
    envbuilder.write("x.lock", dump(replace(lock, files=(own,))))
    ended = envbuilder("bundle", "x.lock", "-o", "x.bundle", "--debian-mirror", mirror)
    assert ended.status == 5
    assert "the own file /app/model.bin" in ended.stderr
    assert "next: " in ended.stderr

"""A lock of OS packages only, and a Debian archive on loopback that serves them."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

from envbuilder.catalog.environments import PythonProvider
from envbuilder.core.versions import Release
from envbuilder.lock.lock import BasePin, Lock, OsPackagePin, PythonPin
from tests.fakes.catalogs import good_lock

DEBS = {"libc6": b"a .deb" * 99, "python3": b"another .deb" * 99}


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a directory with the packages in `pool/`; yield its address."""
    (folder / "pool").mkdir(parents=True)
    for name, content in DEBS.items():
        (folder / "pool" / f"{name}.deb").write_bytes(content)
    with HTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def lock_of_debs(base: BasePin) -> Lock:
    """Return a lock whose base has the packages, and that needs nothing else."""
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
    return replace(
        good_lock(),
        base=replace(base, packages=pins),
        python=PythonPin(version=Release("3.8"), provider=PythonProvider.OS),
        os_packages=(),
        packages=(),
        files=(),
        tools=(),
        image=None,
        inputs=(),
    )

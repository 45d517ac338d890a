"""A publisher on the loopback interface that serves archives in NVIDIA's layouts, filled with stand-ins.

The run files are made with the real makeself. NVIDIA's own files cannot be in a test: they are large, and their
license does not allow it. A catalog of the test names the sha256 of these archives in place of those of NVIDIA.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from envbuilder.catalog.archives import ArchiveFormat, VendorArchive
from envbuilder.catalog.load.tables import dump_archives, read_archives
from envbuilder.curation.stand_ins.imported_symbols import ImportedSymbol
from envbuilder.curation.stand_ins.library import compiled, stand_in
from tests.fakes.catalogs import MATRICES

EULA = "This text takes the place of NVIDIA's license.\n"


@dataclass(frozen=True, kw_only=True)
class Publisher:
    """Archives, and a catalog that names them.

    Attributes:
        address: Where they are served.
        matrices: The catalog.
        asked: Paths that were requested, in order.
        licenses: Number of archives that contain the text of a license.
    """

    address: str
    matrices: Path
    asked: list[str]
    licenses: int


@contextmanager
def published(folder: Path, archives: Sequence[str], imports: Sequence[ImportedSymbol]) -> Iterator[Publisher]:
    """Make archives of the catalog with stand-ins in them, and serve them.

    Args:
        folder: An empty folder.
        archives: Ids of the archives.
        imports: Functions that the libraries have to have.
    """
    matrices, files = folder / "matrices", folder / "files"
    shutil.copytree(MATRICES, matrices)
    document = matrices / "archives.yaml"
    facts = read_archives(document.read_text(encoding="utf-8"), document.name)
    made = {
        archive.id: _made(archive, files / archive.path, folder / "work" / archive.id, imports)
        for archive in facts.archives
        if archive.id in archives
    }
    changed = replace(facts, archives=tuple(made.get(archive.id, archive) for archive in facts.archives))
    document.write_text(dump_archives(changed), encoding="utf-8")
    asked: list[str] = []
    licenses = sum(1 for archive in made.values() if archive.eula)
    with _served(files, asked) as address:
        yield Publisher(address=address, matrices=matrices, asked=asked, licenses=licenses)


def _made(archive: VendorArchive, target: Path, work: Path, imports: Sequence[ImportedSymbol]) -> VendorArchive:
    """Write an archive in its own format; return its entry with the right sha256."""
    tree = work / "tree"
    for library in archive.libraries:
        path = tree / library.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(compiled(stand_in(library.soname, imports), os.environ["PATH"]))
        if path.name != library.soname:
            path.with_name(library.soname).symlink_to(path.name)
    if archive.eula:
        (tree / archive.eula).parent.mkdir(parents=True, exist_ok=True)
        (tree / archive.eula).write_text(EULA, encoding="utf-8")
    target.parent.mkdir(parents=True, exist_ok=True)
    _pack(archive, tree, target, work)
    content = target.read_bytes()
    libraries = tuple(replace(library, sha256="") for library in archive.libraries)
    return replace(archive, sha256=hashlib.sha256(content).hexdigest(), size=len(content), libraries=libraries)


def _pack(archive: VendorArchive, tree: Path, target: Path, work: Path) -> None:
    match archive.format:
        case ArchiveFormat.MAKESELF_NESTED:
            outer = work / "outer"
            (outer / archive.inner).parent.mkdir(parents=True)
            _run_file(tree, outer / archive.inner, "--gzip")
            _run_file(outer, target, "--nocomp")
        case ArchiveFormat.MAKESELF:
            _run_file(tree, target, "--gzip")
        case ArchiveFormat.TAR_GZIP:
            with tarfile.open(target, "w:gz") as tar:
                tar.add(tree, arcname=".")
        case other:
            raise AssertionError(f"{archive.id} has the format {other.value}, which this publisher does not serve")


def _run_file(folder: Path, target: Path, compression: str) -> None:
    command = ["makeself", "--quiet", "--nox11", compression, str(folder), str(target), "CUDA", "./install"]
    subprocess.run(command, check=True, capture_output=True)


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *arguments: object, asked: list[str], directory: str) -> None:
        self._asked = asked
        super().__init__(*arguments, directory=directory)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        self._asked.append(self.path)
        super().do_GET()

    def log_message(self, *_arguments: object) -> None:
        """Write nothing: a test asks for `asked`."""


@contextmanager
def _served(folder: Path, asked: list[str]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, asked=asked, directory=str(folder)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

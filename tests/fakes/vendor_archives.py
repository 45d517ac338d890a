"""Vendor archives in the layouts of NVIDIA's, and pins of them."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from envbuilder.catalog.archives import ArchivedLibrary, ArchiveFormat, ArchivePin
from envbuilder.catalog.environments import CudaProvider
from envbuilder.core.errors import SourceUnreachable
from envbuilder.image.vendor.libraries import VendorArchives
from envbuilder.lock.lock import Lock
from envbuilder.oci.store import Store
from tests.fakes.run_files import EULA, NESTED, run_file
from tests.unit.image.base.deb.debs import Content, tar_of

LIBRARY = b"\x7fELF library " * 500
TREE: Mapping[str, Content] = {
    "lib64": None,
    "lib64/libx.so": "libx.so.9.0",
    "lib64/libx.so.9.0": "libx.so.9.0.176",
    "lib64/libx.so.9.0.176": LIBRARY,
    "lib64/liby.so.9.0.1": LIBRARY[::-1],
    "lib64/stubs/libx.so": b"stub",
    "doc/EULA.txt": EULA,
}
LIBRARIES = {"libx.so.9.0": "lib64/libx.so.9.0", "liby.so.9.0": "lib64/liby.so.9.0.1"}


def archive_of(kind: ArchiveFormat, tree: Mapping[str, Content] = TREE) -> bytes:
    """An archive with a tree; a wheel has no links."""
    match kind:
        case ArchiveFormat.MAKESELF:
            return run_file(gzip.compress(tar_of(tree), mtime=0))
        case ArchiveFormat.MAKESELF_NESTED:
            inner = run_file(gzip.compress(tar_of(tree), mtime=0))
            files = {"run_files": None, "run_files/NVIDIA-driver.run": b"#!/bin/sh\n", NESTED: inner}
            return run_file(tar_of(files), lines=44)
        case ArchiveFormat.TAR_GZIP:
            return gzip.compress(tar_of(tree), mtime=0)
        case ArchiveFormat.TAR_XZ:
            return lzma.compress(tar_of(tree))
        case ArchiveFormat.WHEEL:
            return _wheel(tree)


def _wheel(tree: Mapping[str, Content]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in tree.items():
            while isinstance(content, str):
                content = tree[f"{path.rpartition('/')[0]}/{content}"]  # noqa: PLW2901  follows the links
            if content is not None:
                wheel.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), content)
    return stream.getvalue()


def pin_of(
    content: bytes,
    kind: ArchiveFormat,
    *,
    libraries: Mapping[str, str] = LIBRARIES,
    hashes: Mapping[str, str] | None = None,
    eula: str = "doc/EULA.txt",
    name: str = "cuda-9.0.176-runfile",
    publisher: str = "nvidia-developer",
) -> ArchivePin:
    """The pin of an archive.

    Args:
        content: The archive.
        kind: Its format.
        libraries: Path by soname.
        hashes: sha256 by soname, where it is known.
        eula: Path of the license.
        name: Its id.
        publisher: Its publisher.
    """
    return ArchivePin(
        id=name,
        format=kind,
        publisher=publisher,
        path=f"compute/{name}",
        file=name,
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        inner=NESTED if kind is ArchiveFormat.MAKESELF_NESTED else "",
        eula=eula,
        libraries=tuple(
            ArchivedLibrary(soname=soname, path=path, sha256=(hashes or {}).get(soname, ""))
            for soname, path in sorted(libraries.items())
        ),
    )


@dataclass(kw_only=True)
class Shelf:
    """A publisher in memory.

    Attributes:
        store: Receives the archives.
        archives: Content by the id of the pin; others are unreachable.
        fetched: Files that were fetched, in order.
    """

    store: Store
    archives: dict[str, bytes] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)

    def fetch(self, pin: ArchivePin, progress: Callable[[int, int], None]) -> None:
        """See `ArchiveFiles.fetch`."""
        if pin.id not in self.archives:
            raise SourceUnreachable(f"{pin.file} cannot be fetched")
        self.fetched.append(pin.file)
        self.store.put(self.archives[pin.id])
        progress(pin.size, pin.size)

    def libraries(self) -> VendorArchives:
        """The archives of the publisher and of the store."""
        return VendorArchives(store=self.store, files=self, progress=lambda _line: None)


def with_archives(lock: Lock, *pins: ArchivePin) -> Lock:
    """A lock whose CUDA libraries come from archives."""
    assert lock.cuda is not None
    return replace(lock, cuda=replace(lock.cuda, provider=CudaProvider.ARCHIVE, archives=pins))


def sha256(content: bytes) -> str:
    """64 digits."""
    return hashlib.sha256(content).hexdigest()

"""Measure the CUDA libraries in wheels of other projects: `python -m tools.wheel_libraries cntk-gpu==2.6 …`.

Downloads one wheel of each release, verifies its hash, reads each CUDA library without loading it, and deletes the
wheel. Prints entries for `matrices/archives.yaml`. Room for one wheel and one library is needed in the temporary
directory: about 1 GiB.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import BinaryIO

from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.core.archives.zip_reader import ZipContent, opened
from envbuilder.core.elf import open_elf, read_shared_object
from envbuilder.core.errors import SourceUnreachable
from envbuilder.core.files import CHUNK
from envbuilder.core.yaml.canonical import Plain, dump
from envbuilder.curation.wheel_audit.code.binary import Binary
from envbuilder.lock.index.fetching import fetch
from envbuilder.lock.index.index import Index, IndexFile
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import settings
from envbuilder.wiring.sources import downloads, package_index

_NAMES = "cublas|cublasLt|cudart|cudnn|cufft|cufftw|curand|cusolver|cusparse|nvrtc|cupti"
_LIBRARY = re.compile(rf"lib({_NAMES})\.so\.[0-9.]+")
_TAG = "-cp36-"
"""One wheel of a release is enough for its libraries."""

_MOVE = re.compile(rb"\xb8(....)", re.DOTALL)
"""`mov eax, constant`, which returns the version (https://www.felixcloutier.com/x86/mov)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelLibrary:
    """A CUDA library in a wheel.

    Attributes:
        soname: Its DT_SONAME.
        path: Its path in the wheel.
        sha256: 64 hexadecimal digits.
        size: Bytes.
        cudnn: Release that `cudnnGetVersion` returns, such as `7.6.5`; empty for other libraries.
        runpath: Directories of its RUNPATH or RPATH; NVIDIA's own files have none, or `$ORIGIN`.
    """

    soname: str
    path: str
    sha256: str
    size: int
    cudnn: str = ""
    runpath: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredWheel:
    """A wheel with CUDA libraries.

    Attributes:
        release: The release, as `NAME==VERSION`.
        file: The wheel on the index.
        size: Bytes of the wheel.
        libraries: Its CUDA libraries, sorted by soname.
    """

    release: str
    file: IndexFile
    size: int
    libraries: tuple[WheelLibrary, ...]


def main(releases: Sequence[str]) -> int:
    """Print the entries of some releases, given as `NAME==VERSION`."""
    here = settings()
    session = Session(here, load_catalog(here.matrices), lambda _: None)
    index, web = package_index(here, Sources()), downloads(session, Sources())
    today = datetime.now(UTC).date()
    for release in releases:
        file = chosen(index, release)
        with tempfile.TemporaryDirectory(prefix="envbuilder-wheel-") as folder:
            path = fetch(file, Path(folder), web=web)
            libraries = sorted(wheel_libraries(path), key=lambda library: library.soname)
            wheel = MeasuredWheel(release=release, file=file, size=path.stat().st_size, libraries=tuple(libraries))
        print(dump({"archives": [entry(wheel, today)]}).partition("\n")[2], end="", flush=True)
    return 0


def chosen(index: Index, release: str) -> IndexFile:
    """Return the wheel of a release to measure.

    Raises:
        SourceUnreachable: The index does not list it.
    """
    name, _, version = release.partition("==")
    listed = index.files(name, version)
    for file in listed:
        if _TAG in file.file and file.file.endswith("manylinux1_x86_64.whl"):
            return file
    raise SourceUnreachable(f"{release}: none of the {len(listed)} listed files is a wheel for Python 3.6")


def wheel_libraries(wheel: Path) -> Iterator[WheelLibrary]:
    """Yield the CUDA libraries of a wheel, in the order of its directory.

    Raises:
        BadArchive: The wheel is damaged.
        Damaged: A library is.
    """
    with opened(wheel) as content:
        for member in content.members:
            if _LIBRARY.fullmatch(member.filename.rpartition("/")[2]):
                yield _measured(content, member.filename)


def _measured(content: ZipContent, path: str) -> WheelLibrary:
    with content.archive.open(path) as member, tempfile.TemporaryFile() as library:
        shutil.copyfileobj(member, library, CHUNK)
        size = library.tell()
        library.seek(0)
        sha256 = hashlib.file_digest(library, "sha256").hexdigest()
        elf = open_elf(library)
        shared = read_shared_object(elf)
        return WheelLibrary(
            soname=shared.soname,
            path=path,
            sha256=sha256,
            size=size,
            cudnn=_cudnn(library) if shared.soname.startswith("libcudnn.") else "",
            runpath=shared.runpath,
        )


def _cudnn(library: BinaryIO) -> str:
    """Return the release that `cudnnGetVersion` returns; empty if its code has another form."""
    binary = Binary(open_elf(library))
    for function in binary.functions(re.compile(rb"cudnnGetVersion")):
        if found := _MOVE.search(binary.code(function)):
            number = int.from_bytes(found[1], "little")
            return f"{number // 1000}.{number % 1000 // 100}.{number % 100}"
    return ""


def entry(wheel: MeasuredWheel, day: date) -> dict[str, Plain]:
    """Return the entry of `matrices/archives.yaml` for a wheel."""
    read: list[Plain] = [f"sha256 of the package index, verified on the whole file {day}"]
    for library in wheel.libraries:
        told = f", cudnnGetVersion returns {library.cudnn}" if library.cudnn else ""
        search = f", search path {':'.join(library.runpath)}" if library.runpath else ""
        read.append(f"{library.soname}: {library.size} bytes{told}{search}; read from the wheel {day}")
    return {
        "id": f"pypi-{wheel.release.replace('==', '-')}",
        "format": "wheel",
        "publisher": "pypi",
        "file": wheel.file.file,
        "sha256": wheel.file.sha256,
        "size": wheel.size,
        "libraries": [{"soname": each.soname, "path": each.path, "sha256": each.sha256} for each in wheel.libraries],
        "agreeing": 1,
        "sources": read,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Measurement of a wheel on disk: one library at a time, to save memory and disk space."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from elftools.elf.elffile import ELFFile

from envbuilder.catalog.cuda import CudnnNeed
from envbuilder.core.corrupt_file import Damaged, invalid
from envbuilder.core.digests import digest_of_file
from envbuilder.core.elf import open_elf, read_shared_object, reading_elf
from envbuilder.core.elf_segments import MAGIC
from envbuilder.core.versions import Release
from envbuilder.curation.wheel_audit.build_info import read_build_info
from envbuilder.curation.wheel_audit.code import CudnnReading, avx_need, cudnn_reading, opened_sonames
from envbuilder.curation.wheel_audit.gpu_code import read_gpu_code
from envbuilder.curation.wheel_audit.measurement import BuildValue, MeasuredLibrary, Measurement, is_main
from envbuilder.curation.wheel_audit.metadata import WheelMetadata, read_file_name, read_metadata
from envbuilder.curation.wheel_audit.wheel_archive import WheelArchive, open_wheel

_LIBRARY = re.compile(r".*\.so(\.\d+)*")
_BUILD_INFO = re.compile(r"(.*/)?tensorflow(_core)?/python/platform/build_info\.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeReaders:
    """Readers of machine code, which tests replace; each returns nothing for a library without the property.

    Attributes:
        cudnn: The cuDNN that it was compiled against.
        opened: `(loader, soname)` that it opens at run time.
        avx: True if code that always runs uses AVX.
    """

    cudnn: Callable[[ELFFile], CudnnReading | None] = cudnn_reading
    opened: Callable[[ELFFile], tuple[tuple[str, str], ...]] = opened_sonames
    avx: Callable[[ELFFile], bool | None] = avx_need


@dataclass(frozen=True, slots=True, kw_only=True)
class _Code:
    """The properties of one library's machine code."""

    cudnn: CudnnReading | None = None
    opened: tuple[tuple[str, str], ...] = ()
    avx: bool | None = None


def measure(wheel: Path, work: Path, readers: CodeReaders | None = None) -> Measurement:
    """Measure a wheel.

    Args:
        wheel: The file; nothing of it is run.
        work: Directory with room for the largest library, 1.2 GB; nothing stays in it.
        readers: Readers of machine code; None for our own.

    Raises:
        InvalidInput: It is not a wheel, has no libraries, or is damaged; names the file in it.
        DiskFull: `work` has no room.
    """
    readers = readers or CodeReaders()
    with open_wheel(wheel) as archive:
        with _naming(archive, ""):
            python_tag, platform_tag = read_file_name(wheel.name)
        metadata = _metadata(archive)
        build_info = _build_info(archive)
        seen = [read for name in archive.names if (read := _library(archive, name, work, readers))]
    libraries = tuple(library for library, _ in seen)
    if not libraries:
        raise invalid(str(wheel), "", "contains no shared library, so it is not a build of TensorFlow")
    code = tuple(code for _, code in seen)
    return Measurement(
        metadata=metadata,
        file=wheel.name,
        sha256=digest_of_file(wheel).removeprefix("sha256:"),
        size=wheel.stat().st_size,
        python_tag=python_tag,
        platform_tag=platform_tag,
        build_info=build_info,
        libraries=libraries,
        opened=tuple(sorted({pair for each in code for pair in each.opened})),
        cudnn=_strictest(each.cudnn for each in code),
        needs_avx=_any(each.avx for each in code),
    )


def _metadata(archive: WheelArchive) -> WheelMetadata:
    described = _only(archive, "METADATA")
    wheel = archive.text(_only(archive, "WHEEL"))
    with _naming(archive, described):
        return read_metadata(archive.text(described), wheel)


def _only(archive: WheelArchive, name: str) -> str:
    found = [path for path in archive.names if re.fullmatch(rf"[^/]+\.dist-info/{name}", path)]
    if len(found) != 1:
        raise invalid(archive.file, "", f"is not a wheel: it has {len(found)} files *.dist-info/{name}")
    return found[0]


def _build_info(archive: WheelArchive) -> tuple[tuple[str, BuildValue], ...]:
    """Return the first build_info: 1.15 and 2.0 have TensorFlow in `tensorflow_core`."""
    for name in archive.names:
        if _BUILD_INFO.fullmatch(name):
            with _naming(archive, name):
                return read_build_info(archive.text(name))
    return ()


def _library(
    archive: WheelArchive, name: str, work: Path, readers: CodeReaders
) -> tuple[MeasuredLibrary, _Code] | None:
    """Return one library; None if the member is not one."""
    if not _LIBRARY.fullmatch(name):
        return None
    with archive.unpacked(name, work) as stream, _naming(archive, name):
        if stream.read(len(MAGIC)) != MAGIC:
            raise Damaged("has the name of a shared library, but is not an ELF file")
        elf = open_elf(stream)
        library = _measured(elf, stream, name, archive.size(name))
        return library, _code(elf, readers) if is_main(library.name) else _Code()


def _measured(elf: ELFFile, stream: BinaryIO, name: str, size: int) -> MeasuredLibrary:
    linked = read_shared_object(elf)
    code = read_gpu_code(stream, linked.data)
    return MeasuredLibrary(
        path=name,
        size=size,
        machine=linked.machine,
        needed=linked.needed,
        runpath=linked.runpath,
        glibc=linked.versions.get("GLIBC"),
        glibcxx=linked.versions.get("GLIBCXX"),
        cxxabi=linked.versions.get("CXXABI"),
        code=code.families,
        bare_cubins=code.bare_cubins,
    )


def _code(elf: ELFFile, readers: CodeReaders) -> _Code:
    with reading_elf():
        return _Code(cudnn=readers.cudnn(elf), opened=readers.opened(elf), avx=readers.avx(elf))


def _strictest(seen: Iterable[CudnnReading | None]) -> CudnnNeed | None:
    """Return the newest cuDNN that any library was compiled against: that library refuses to start with older ones."""
    needs = (CudnnNeed(compiled=Release(each.compiled), rule=each.rule) for each in seen if each is not None)
    return max(needs, key=lambda need: need.compiled, default=None)


def _any(answers: Iterable[bool | None]) -> bool | None:
    known = [answer for answer in answers if answer is not None]
    return any(known) if known else None


@contextmanager
def _naming(archive: WheelArchive, member: str) -> Iterator[None]:
    """Convert damage in the block to an error that names the wheel and the file in it."""
    try:
        yield
    except Damaged as error:
        raise invalid(archive.file, member, str(error)) from error

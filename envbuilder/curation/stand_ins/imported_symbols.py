"""CUDA functions that the libraries of a wheel import, and the library that each belongs to."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section

from envbuilder.core.corrupt_file import Damaged, invalid
from envbuilder.core.elf import needed_versions, open_elf, reading_elf
from envbuilder.core.elf_segments import MAGIC
from envbuilder.curation.wheel_audit.wheel_archive import WheelArchive, open_wheel

_CUDA = re.compile(
    rb"(?P<stem>cublas|cudnn|cufft|cupti|curand|cusolver|cusparse|nccl|nvrtc|(?:__)?cuda|cu)(?=[A-Z])\w{1,200}"
)
_LIBRARIES = {"cuda": "libcudart", "__cuda": "libcudart", "cu": "libcuda"}
"""Libraries whose functions begin with another text than their name."""

_LIBRARY = re.compile(r".*\.so(\.\d+)*")
_SYMBOL = struct.Struct("<IBBHQQ")
_NUMBER = struct.Struct("<H")
_HIDDEN = 0x8000


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ImportedSymbol:
    """A function of a CUDA library that a wheel imports.

    Attributes:
        library: Name of the library up to `.so`, such as `libcublas`.
        version: Version of the symbol, such as `libcublas.so.9.0`; empty if it has none, as with CUDA 8.0.
    """

    library: str
    name: str
    version: str


def wheel_imports(wheel: Path, work: Path) -> tuple[ImportedSymbol, ...]:
    """Return the CUDA functions that the libraries of a wheel import, sorted, each once.

    Args:
        wheel: The file; nothing of it is run.
        work: Directory with room for the largest library; nothing stays in it.

    Raises:
        InvalidInput: It is not a wheel, or is damaged; names the file in it.
        DiskFull: `work` has no room.
    """
    with open_wheel(wheel) as archive:
        members = [name for name in archive.names if _LIBRARY.fullmatch(name)]
        return tuple(sorted({symbol for name in members for symbol in _member_imports(archive, name, work)}))


def imported_symbols(elf: ELFFile) -> frozenset[ImportedSymbol]:
    """Return the CUDA functions that an ELF file imports.

    Raises:
        Damaged: Its tables have invalid offsets.
    """
    with reading_elf():
        symbols, names = _section(elf, ".dynsym"), _section(elf, ".dynstr")
        versions, numbers = needed_versions(elf), _version_numbers(elf)
        return frozenset(
            ImportedSymbol(library=library, name=name, version=versions.get(numbers.get(place, 0), ""))
            for place, offset in _undefined(symbols)
            for library, name in _cuda_function(names, offset)
        )


def _member_imports(archive: WheelArchive, name: str, work: Path) -> frozenset[ImportedSymbol]:
    with ExitStack() as stack:
        stream: BinaryIO = stack.enter_context(archive.unpacked(name, work))
        if stream.read(len(MAGIC)) != MAGIC:
            return frozenset()
        try:
            return imported_symbols(open_elf(stream))
        except Damaged as error:
            raise invalid(archive.file, name, str(error)) from error


def _section(elf: ELFFile, name: str) -> bytes:
    section = elf.get_section_by_name(name)
    return section.data() if isinstance(section, Section) else b""


def _undefined(symbols: bytes) -> Iterator[tuple[int, int]]:
    """Yield number and offset of the name of every symbol that the file does not define."""
    whole = symbols[: len(symbols) // _SYMBOL.size * _SYMBOL.size]
    for number, (offset, _, _, section, _, _) in enumerate(_SYMBOL.iter_unpack(whole)):
        if not section:
            yield number, offset


def _cuda_function(names: bytes, offset: int) -> Iterator[tuple[str, str]]:
    """Yield library and name of a function of CUDA; nothing for other symbols."""
    found = _CUDA.match(names, offset)
    if found and names[found.end() : found.end() + 1] == b"\0":
        stem = found["stem"].decode("ascii")
        yield _LIBRARIES.get(stem, f"lib{stem}"), found[0].decode("ascii")


def _version_numbers(elf: ELFFile) -> dict[int, int]:
    """Return the version number of each symbol, by the number of the symbol."""
    table = _section(elf, ".gnu.version")
    whole = table[: len(table) // _NUMBER.size * _NUMBER.size]
    return {place: number & ~_HIDDEN for place, (number,) in enumerate(_NUMBER.iter_unpack(whole))}

"""Dependencies, search paths and data sections of an ELF file."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO, TypeVar

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection, VersionAuxiliary
from elftools.elf.sections import Section, SymbolTableSection

from envbuilder.core.corrupt_file import Damaged
from envbuilder.core.versions import Release

T = TypeVar("T")

_MOST = 1 << 14
"""Maximum of sections, dependencies or symbol versions; more indicate a damaged table."""

_TEXTS = frozenset({"DT_NEEDED", "DT_SONAME", "DT_RUNPATH", "DT_RPATH"})
_LONGEST_TEXT = 1 << 16
_VERSION = re.compile(r"(GLIBC|GLIBCXX|CXXABI)_(\d+(?:\.\d+)*)")
_BROKEN = (
    ELFError, ConstructError, struct.error, ValueError, OverflowError, LookupError, TypeError, AttributeError,
    AssertionError, MemoryError,
)  # fmt: skip
"""Exceptions of pyelftools for damaged files, as observed in tests: it reads tables without checking them first."""


_NVCC_SECTIONS = frozenset({".nv_fatbin", "__nv_relfatbin"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSection:
    """A section of a library with data.

    Attributes:
        name: Such as `.rodata`.
        start: First byte in the file.
    """

    name: str
    start: int
    end: int

    @property
    def family(self) -> str:
        """Kernel family of the section: nvcc puts its kernels into sections of their own, MLIR does not."""
        return "cuda" if self.name in _NVCC_SECTIONS else "mlir"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedObject:
    """Contents of an ELF file.

    Attributes:
        machine: Processor, as named by pyelftools.
        soname: Its own name for dependencies on it; empty without one.
        needed: Dependencies, in file order.
        runpath: Directories of its RUNPATH, or else RPATH, in file order, without the many duplicates of wheels.
        versions: Newest required version by kind: `GLIBC`, `GLIBCXX`, `CXXABI`; without kinds that are not required.
        data: Sections with data that is in the file, in file order.
    """

    machine: str
    soname: str
    needed: tuple[str, ...]
    runpath: tuple[str, ...]
    versions: dict[str, Release]
    data: tuple[DataSection, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPath:
    """Position of an ELF file's search path for its dependencies.

    Attributes:
        text: Its RUNPATH, or else its RPATH.
        start: Offset of the text in the file.
        shared: Whether the text must not be changed, since another entry of the file uses a part of it or may use it.
    """

    text: str
    start: int
    shared: bool


@contextmanager
def reading_elf() -> Iterator[None]:
    """Translate all errors of pyelftools in the block into Damaged."""
    try:
        yield
    except _BROKEN as error:
        raise Damaged(f"a damaged ELF file: {error or type(error).__name__}") from error


def open_elf(stream: BinaryIO) -> ELFFile:
    """Open an ELF file.

    Raises:
        Damaged: It is not an ELF file, or its tables are inconsistent.
    """
    with reading_elf():
        elf = ELFFile(stream)
        count = elf.num_sections()
    if not 0 < count < _MOST:
        raise Damaged(f"an ELF file with {count} sections: its content cannot be determined")
    return elf


def read_shared_object(elf: ELFFile) -> SharedObject:
    """Read an open ELF file.

    Raises:
        Damaged: Its tables have invalid offsets.
    """
    with reading_elf():
        sections = tuple(elf.iter_sections())
        tags = tuple(_tags(sections))
        search = [text for name, text in tags if name == "DT_RUNPATH"] or [
            text for name, text in tags if name == "DT_RPATH"
        ]
        return SharedObject(
            machine=str(elf.get_machine_arch()),
            soname=next((text for name, text in tags if name == "DT_SONAME"), ""),
            needed=tuple(text for name, text in tags if name == "DT_NEEDED"),
            runpath=tuple(dict.fromkeys(folder for text in search for folder in text.split(":") if folder)),
            versions=_newest(str(each.name) for each in _versions(sections)),
            data=tuple(_data(sections, elf.stream_len)),
        )


def needed_versions(elf: ELFFile) -> dict[int, str]:
    """Return the names of the symbol versions that an open ELF file needs, by their number.

    Raises:
        Damaged: Its tables have invalid offsets.
    """
    with reading_elf():
        return {int(each["vna_other"]): str(each.name) for each in _versions(elf.iter_sections())}


def read_search_path(elf: ELFFile) -> SearchPath | None:
    """Return the search path of an open ELF file; None without one.

    Raises:
        Damaged: Its tables have invalid offsets.
    """
    with reading_elf():
        dynamic = next((each for each in elf.iter_sections() if isinstance(each, DynamicSection)), None)
        if dynamic is None:
            return None
        tags = [
            (tag.entry.d_tag, tag.entry.d_val)
            for tag in _few(dynamic.iter_tags(), "entries in the dynamic section")
            if tag.entry.d_tag in _TEXTS
        ]
        places = [place for name in ("DT_RUNPATH", "DT_RPATH") for tag, place in tags if tag == name]
        if not places:
            return None
        start = elf.get_section(dynamic["sh_link"])["sh_offset"] + places[0]
        elf.stream.seek(start)
        text, end, _ = elf.stream.read(_LONGEST_TEXT).partition(b"\0")
        if not end:
            raise Damaged("an ELF file whose search path has no end")
        symbols = {place for place in _symbol_names(elf) if place}
        used = {place for tag, place in tags if tag in {"DT_NEEDED", "DT_SONAME"}} | symbols
        # Linkers merge a string with the end of another one: the name of a symbol `b` may be the last letter of `/lib`.
        # Without a section that lists the symbols, this cannot be ruled out.
        shared = not symbols or any(places[0] <= place < places[0] + len(text) for place in used)
        return SearchPath(text=text.decode("utf-8", "surrogateescape"), start=start, shared=shared)


def _symbol_names(elf: ELFFile) -> Iterator[int]:
    """Yield the offsets of the names of dynamic symbols in the string table."""
    for section in elf.iter_sections("SHT_DYNSYM"):
        if isinstance(section, SymbolTableSection):
            yield from (symbol.entry.st_name for symbol in section.iter_symbols())


def _tags(sections: Iterable[Section]) -> Iterator[tuple[str, str]]:
    """Yield the string entries of the dynamic section."""
    for section in sections:
        if isinstance(section, DynamicSection):
            for tag in _few(section.iter_tags(), "entries in the dynamic section"):
                name = tag.entry.d_tag
                if name in _TEXTS:
                    yield name, getattr(tag, name.removeprefix("DT_").lower())


def _versions(sections: Iterable[Section]) -> Iterator[VersionAuxiliary]:
    """Yield the entries for symbol versions that the file needs."""
    for section in sections:
        if isinstance(section, GNUVerNeedSection):
            if section.num_versions() > _MOST:
                raise Damaged(f"an ELF file that claims to need {section.num_versions()} sets of symbol versions")
            entries = (entry for _, auxiliaries in section.iter_versions() for entry in auxiliaries)
            yield from _few(entries, "symbol versions")


def _few(items: Iterator[T], what: str) -> Iterator[T]:
    """Yield the items; raise Damaged if there are too many."""
    yield from islice(items, _MOST)
    if next(items, None) is not None:
        raise Damaged(f"an ELF file with more than {_MOST} {what}")


def _newest(names: Iterable[str]) -> dict[str, Release]:
    found: dict[str, Release] = {}
    for name in names:
        match = _VERSION.fullmatch(name)
        if match:
            release = Release(match[2])
            found[match[1]] = max(release, found.get(match[1], release))
    return dict(sorted(found.items()))


def _data(sections: Iterable[Section], size: int) -> Iterator[DataSection]:
    """Yield sections that are loaded, have content in the file and are not instructions."""
    for section in sections:
        flags = section["sh_flags"]
        loaded = flags & SH_FLAGS.SHF_ALLOC and not flags & SH_FLAGS.SHF_EXECINSTR
        if loaded and section["sh_type"] == "SHT_PROGBITS":
            start, length = section["sh_offset"], section["sh_size"]
            if start + length > size:
                raise Damaged(f"an ELF file whose section {section.name} ends beyond its last byte")
            yield DataSection(name=section.name, start=start, end=start + length)

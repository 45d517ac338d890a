"""Search for all GPU code in a shared library, by family of kernels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from envbuilder.core.corrupt_file import Damaged
from envbuilder.core.elf import DataSection
from envbuilder.core.versions import Release
from envbuilder.curation.wheel_audit.fatbins import MAGIC, Fatbin, GpuCodeKind, read_fatbin, read_ptx
from envbuilder.curation.wheel_audit.measurement import FAMILIES, FamilyCode, PtxTarget

BLOCK = 1 << 16

_ELF = b"\x7fELF\x02\x01"
_MACHINE_AT, _CUDA_MACHINE = 18, (190).to_bytes(2, "little")


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryCode:
    """GPU code of one library.

    Attributes:
        families: In the order `cuda`, `mlir`; without missing ones.
        bare_cubins: GPU programs outside of any fatbin.
    """

    families: tuple[FamilyCode, ...]
    bare_cubins: int


def read_gpu_code(stream: BinaryIO, sections: Iterable[DataSection]) -> LibraryCode:
    """Read every fatbin of a library.

    Args:
        stream: The library.
        sections: Sections with data; fatbins are never among instructions.

    Raises:
        Damaged: A fatbin is damaged.
    """
    found: dict[str, list[Fatbin]] = defaultdict(list)
    bare = 0
    for section in sections:
        fatbins = list(_fatbins(stream, section))
        found[section.family] += fatbins
        bare += sum(_bare_cubins(stream, start, end) for start, end in _gaps(section, fatbins))
    return LibraryCode(
        families=tuple(_family(stream, name, found[name]) for name in FAMILIES if found[name]),
        bare_cubins=bare,
    )


def _fatbins(stream: BinaryIO, section: DataSection) -> Iterator[Fatbin]:
    at = section.start
    while (hit := _find(stream, MAGIC, at, section.end)) is not None:
        fatbin = read_fatbin(stream, hit, section.end)
        if fatbin is not None:
            yield fatbin
        elif section.family == "cuda":
            raise Damaged(f"section {section.name} has a broken fatbin at byte {hit}")
        at = fatbin.end if fatbin else hit + len(MAGIC)


def _find(stream: BinaryIO, needle: bytes, start: int, end: int) -> int | None:
    """Return the next position of the needle; blocks overlap so that none is split."""
    overlap = len(needle) - 1
    while start + overlap < end:
        stream.seek(start)
        block = stream.read(min(BLOCK, end - start))
        hit = block.find(needle)
        if hit >= 0:
            return start + hit
        if len(block) <= overlap:
            return None
        start += len(block) - overlap
    return None


def _gaps(section: DataSection, fatbins: Iterable[Fatbin]) -> Iterator[tuple[int, int]]:
    """Yield the ranges before, between and after the fatbins: programs inside of a fatbin are not bare ones."""
    at = section.start
    for fatbin in fatbins:
        yield at, fatbin.start
        at = fatbin.end
    yield at, section.end


def _bare_cubins(stream: BinaryIO, start: int, end: int) -> int:
    count = 0
    while (hit := _find(stream, _ELF, start, end)) is not None:
        stream.seek(hit + _MACHINE_AT)
        count += stream.read(2) == _CUDA_MACHINE
        start = hit + len(_ELF)
    return count


def _family(stream: BinaryIO, name: str, fatbins: list[Fatbin]) -> FamilyCode:
    return FamilyCode(
        name=name,
        fatbins=len(fatbins),
        machine=tuple(sorted({capability for fatbin in fatbins for capability in _machine(fatbin)})),
        ptx=tuple(sorted({target for fatbin in fatbins for target in _ptx(stream, fatbin)}, key=_order)),
    )


def _machine(fatbin: Fatbin) -> frozenset[Release]:
    return frozenset(entry.capability for entry in fatbin.entries if entry.kind == GpuCodeKind.MACHINE)


def _ptx(stream: BinaryIO, fatbin: Fatbin) -> Iterator[PtxTarget]:
    machine = _machine(fatbin)
    for entry in fatbin.entries:
        if entry.kind == GpuCodeKind.PTX:
            isa, target = read_ptx(stream, entry) or (None, "")
            yield PtxTarget(
                capability=entry.capability,
                isa=isa,
                target=target,
                beside_machine=entry.capability in machine,
            )


def _order(target: PtxTarget) -> tuple[Release, Release, str, bool]:
    return target.capability, target.isa or Release("0"), target.target, target.beside_machine

"""Wheels, ELF files, fatbins and LZ4 blocks, made by hand: what `auditing` reads, as small as it gets."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PTX, CUBIN, LTO = 1, 2, 8
LZ4, ZSTD = 0x2011, 0x8011
NAME = "tensorflow-2.99.0-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
FRAMEWORK = "tensorflow/libtensorflow_framework.so.2"
INFO = "tensorflow-2.99.0.dist-info"
METADATA = "Metadata-Version: 2.1\nName: tensorflow\nVersion: 2.99.0\nRequires-Python: >=3.9\n"
WHEEL = "Wheel-Version: 1.0\nTag: cp312-cp312-manylinux_2_17_x86_64\nTag: cp312-cp312-manylinux2014_x86_64\n"

_PROGBITS, _STRTAB, _DYNAMIC, _NOBITS, _DYNSYM, _VERNEED = 1, 3, 6, 8, 11, 0x6FFFFFFE
_ALLOC, _EXECINSTR = 2, 4
_ENTRY_SIZES = {_DYNAMIC: 16, _DYNSYM: 24}
_DYNAMIC_TAGS = {"needed": 1, "soname": 14, "rpath": 15, "runpath": 29}


@dataclass(frozen=True)
class Part:
    """A section of an ELF file; `at` is found when the file is put together."""

    name: str
    content: bytes
    kind: int = _PROGBITS
    flags: int = _ALLOC
    link: int = 0
    info: int = 0


def elf(
    *,
    needed: Sequence[str] = (),
    runpath: str = "",
    rpath: str = "",
    versions: Mapping[str, Sequence[str]] | None = None,
    data: Mapping[str, bytes] | None = None,
    code: bytes = b"",
    machine: int = 62,
    soname: str = "",
    symbols: Sequence[str] = (),
) -> bytes:
    """A shared library for x86-64.

    Args:
        needed: Its dependencies.
        runpath: Its RUNPATH.
        rpath: Its RPATH.
        versions: Symbol versions that it needs, by library.
        data: Contents of its data sections by name.
        code: Content of its `.text`.
        machine: `e_machine`.
        soname: Its own name for dependencies on it.
        symbols: Names of its dynamic symbols; one that ends another text shares its bytes.
    """
    strings = _Strings()
    entries = [("needed", name) for name in needed]
    entries += [(kind, text) for kind, text in (("soname", soname), ("rpath", rpath), ("runpath", runpath)) if text]
    dynamic = b"".join(struct.pack("<qQ", _DYNAMIC_TAGS[kind], strings.at(text)) for kind, text in entries)
    need = _verneed(versions or {}, strings)
    parts = [
        Part("", b"", kind=0, flags=0),
        Part(".dynstr", strings.content, kind=_STRTAB),
        Part(".dynamic", dynamic + bytes(16), kind=_DYNAMIC, link=1),
    ]
    if need:
        parts.append(Part(".gnu.version_r", need, kind=_VERNEED, link=1, info=len(versions or {})))
    if symbols:
        table = b"".join(struct.pack("<IBBHQQ", strings.within(name), 0, 0, 0, 0, 0) for name in symbols)
        parts[1] = Part(".dynstr", strings.content, kind=_STRTAB)
        parts.append(Part(".dynsym", table, kind=_DYNSYM, link=1))
    if code:
        parts.append(Part(".text", code, flags=_ALLOC | _EXECINSTR))
    parts += [Part(name, content) for name, content in (data or {}).items()]
    return _file(parts, machine)


def _file(parts: Sequence[Part], machine: int) -> bytes:
    names = _Strings()
    table = [*parts, Part(".shstrtab", b"", kind=_STRTAB, flags=0)]
    offsets = [names.at(part.name) for part in table]
    table[-1] = Part(".shstrtab", names.content, kind=_STRTAB, flags=0)
    body, headers = bytearray(64), b""
    for part, name in zip(table, offsets, strict=True):
        body += bytes(-len(body) % 8)
        headers += struct.pack(
            "<IIQQQQIIQQ", name, part.kind, part.flags, 0, len(body), len(part.content), part.link, part.info, 8,
            _ENTRY_SIZES.get(part.kind, 0),
        )  # fmt: skip
        body += part.content
    body += bytes(-len(body) % 8)
    body[:64] = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, machine, 1, 0, 0, len(body), 0, 64, 56, 0, 64, len(table),
        len(table) - 1,
    )  # fmt: skip
    return bytes(body) + headers


class _Strings:
    """A string table that grows."""

    def __init__(self) -> None:
        self.content = b"\0"

    def within(self, text: str) -> int:
        place = self.content.find(text.encode() + b"\0")
        return place if place >= 0 else self.at(text)

    def at(self, text: str) -> int:
        place = len(self.content)
        self.content += text.encode() + b"\0"
        return place


def _verneed(versions: Mapping[str, Sequence[str]], strings: _Strings) -> bytes:
    found = b""
    for index, (library, names) in enumerate(versions.items()):
        size = 16 + 16 * len(names)
        after = size if index + 1 < len(versions) else 0
        found += struct.pack("<HHIII", 1, len(names), strings.at(library), 16, after)
        for number, name in enumerate(names):
            found += struct.pack("<IHHII", 0, 0, 2, strings.at(name), 16 if number + 1 < len(names) else 0)
    return found


def ptx(isa: str, target: str) -> bytes:
    """A PTX text, with enough after its first lines to be worth packing."""
    head = f"//\n// Generated by NVIDIA NVVM Compiler\n//\n\n.version {isa}\n.target {target}\n.address_size 64\n\n"
    return head.encode() + b"".join(b"\t.reg .f32 \t%%f<%d>;\n" % number for number in range(300))


def entry(kind: int, arch: int, payload: bytes = b"code", *, flags: int = 0x11, header: int = 64) -> bytes:
    """One entry of a fatbin; `flags` only says how the payload is packed, it does not pack it."""
    padded = payload + bytes(-len(payload) % 8)
    packed = len(payload) if flags & 0xA000 else 0
    return (
        struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, header, len(padded), packed, 0, 7, 1, arch, 0, 0, flags, 0, 0)
        + bytes(header - 64)
        + padded
    )


def fatbin(*entries: bytes) -> bytes:
    """A fatbin of these entries."""
    content = b"".join(entries)
    return b"\x50\xed\x55\xba" + struct.pack("<HHQ", 1, 16, len(content)) + content


def lz4(text: bytes) -> bytes:
    """An LZ4 block, packed greedily."""
    seen: dict[bytes, int] = {}
    block, literals, at = b"", b"", 0
    while at < len(text):
        before = seen.get(text[at : at + 4])
        seen[text[at : at + 4]] = at
        # The format wants five literals at the end, and no match in the last twelve bytes.
        if before is None or at - before > 0xFFFF or at + 12 > len(text):
            literals += text[at : at + 1]
            at += 1
            continue
        length = 4
        while at + length < len(text) - 5 and text[before + length] == text[at + length]:
            length += 1
        block += _sequence(literals, at - before, length)
        literals, at = b"", at + length
    return block + _sequence(literals, 0, 4)


def _sequence(literals: bytes, back: int, length: int) -> bytes:
    token = min(len(literals), 15) << 4 | min(length - 4, 15)
    rest = struct.pack("<H", back) + _more(length - 4) if back else b""
    return bytes([token]) + _more(len(literals)) + literals + rest


def _more(count: int) -> bytes:
    if count < 15:
        return b""
    whole, last = divmod(count - 15, 255)
    return b"\xff" * whole + bytes([last])


def wheel(folder: Path, members: Mapping[str, bytes | str] | None = None, *, name: str = NAME) -> Path:
    """A TensorFlow wheel with these members instead of, or beside, the usual ones; an empty one is left out."""
    usual: dict[str, bytes | str] = {
        FRAMEWORK: elf(needed=["libc.so.6"], versions={"libc.so.6": ["GLIBC_2.17"]}),
        f"{INFO}/METADATA": METADATA,
        f"{INFO}/WHEEL": WHEEL,
    }
    path = folder / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in (usual | dict(members or {})).items():
            if content:
                archive.writestr(member, content)
    return path

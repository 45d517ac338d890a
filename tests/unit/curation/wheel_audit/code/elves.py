"""Tiny ELF files with functions, data and stubs for functions of other libraries, made byte by byte."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Mapping

from elftools.elf.elffile import ELFFile

DATA, STUBS, SLOTS, CODE = 0x1000, 0x2000, 0x3000, 0x4000
"""Where parts lie, in the file and at run time."""

ROOM = 0x1000
"""Bytes for each function."""


class Code:
    """Machine code that knows where it lies, so that it can name addresses.

    Args:
        number: It is so many functions behind the first of the file.
    """

    def __init__(self, number: int = 0) -> None:
        self.address = CODE + number * ROOM
        self.content = b""

    def raw(self, *texts: str) -> Code:
        """Bytes in hexadecimal."""
        self.content += bytes.fromhex("".join(texts))
        return self

    def to(self, opcode: str, target: int) -> Code:
        """An instruction that ends in the distance to an address: call, jump, or an operand relative to itself."""
        self.raw(opcode)
        self.content += struct.pack("<i", target - self.address - len(self.content) - 4)
        return self

    def number(self, opcode: str, value: int, size: int = 4) -> Code:
        """An instruction that ends in a constant."""
        self.raw(opcode)
        self.content += value.to_bytes(size, "little", signed=value < 0)
        return self

    def call(self, target: int) -> Code:
        return self.to("E8", target)


def stub(number: int = 0) -> int:
    """Address of the stub of an imported function."""
    return STUBS + 16 * number


def elf(
    functions: Mapping[str, bytes],
    *,
    imports: Iterable[str] = (),
    data: bytes = b"",
    table: str = ".dynsym",
    undefined: Iterable[str] = (),
    protected_stubs: bool = False,
) -> ELFFile:
    """A file that has these functions in this order, each with `ROOM` bytes of space from `CODE` on."""
    return ELFFile(
        io.BytesIO(
            elf_bytes(
                functions,
                imports=imports,
                data=data,
                table=table,
                undefined=undefined,
                protected_stubs=protected_stubs,
            )
        )
    )


def elf_bytes(
    functions: Mapping[str, bytes],
    *,
    imports: Iterable[str] = (),
    data: bytes = b"",
    table: str = ".dynsym",
    undefined: Iterable[str] = (),
    protected_stubs: bool = False,
) -> bytes:
    """The content of such a file."""
    outside = (*imports, *undefined)
    names, places = _names((*functions, *outside))
    symbols = bytes(24)
    for number, (name, code) in enumerate(functions.items()):
        symbols += struct.pack("<IBBHQQ", places[name], 0x12, 0, 1, CODE + number * ROOM, len(code))
    symbols += b"".join(struct.pack("<IBBHQQ", places[name], 0x12, 0, 0, 0, 0) for name in outside)
    links = b"".join(
        struct.pack("<QQq", SLOTS + 8 * number, (1 + len(functions) + number) << 32 | 7, 0)
        for number, _ in enumerate(imports)
    )
    stubs = b"".join(_stub(number, protected=protected_stubs) for number, _ in enumerate(imports))
    content = {DATA: data, STUBS: stubs}
    content |= {CODE + number * ROOM: code for number, code in enumerate(functions.values())}
    end = CODE + len(functions) * ROOM
    binary = bytearray(end)
    for place, part in content.items():
        binary[place : place + len(part)] = part
    return _finish(binary, {table: symbols, ".strings": names, ".rela.plt": links})


def _stub(number: int, *, protected: bool) -> bytes:
    mark = b"\xf3\x0f\x1e\xfa" if protected else b""
    after = stub(number) + len(mark) + 6
    return (mark + b"\xff\x25" + struct.pack("<i", SLOTS + 8 * number - after)).ljust(16, b"\x90")


def _names(names: Iterable[str]) -> tuple[bytes, dict[str, int]]:
    content, places = b"\0", {}
    for name in names:
        places[name] = len(content)
        content += name.encode() + b"\0"
    return content, places


def _finish(binary: bytearray, sections: Mapping[str, bytes]) -> bytes:
    titles, title_places = _names((*sections, ".names"))
    headers = [bytes(64)]
    size = len(binary)
    for name, content in (*sections.items(), (".names", titles)):
        kind = {".rela.plt": 4, ".strings": 3, ".names": 3, ".symtab": 2}.get(name, 11)
        shape = {4: 24, 2: 24, 11: 24}.get(kind, 0)
        headers.append(
            struct.pack("<IIQQQQIIQQ", title_places[name], kind, 0, 0, len(binary), len(content), 2, 0, 1, shape)
        )
        binary += content
    program = len(binary)
    binary += struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, size, size, 0x1000)
    place = len(binary)
    binary += b"".join(headers)
    begin = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, program, place, 0, 64, 56, 1, 64, 5, 4
    )
    binary[: len(begin)] = begin
    return bytes(binary)

"""Small wheels, made in the ways that zip allows."""

from __future__ import annotations

import base64
import hashlib
import struct
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

from envbuilder.image.layers.wheel_file import open_wheel

DIST_INFO = "toy-1.0.dist-info"


def wheel(
    folder: Path,
    files: Mapping[str, bytes],
    *,
    name: str = "toy-1.0-py3-none-any.whl",
    dist_info: str = DIST_INFO,
    method: int = zipfile.ZIP_DEFLATED,
    executable: tuple[str, ...] = (),
    streamed: bool = False,
    metadata: bytes = b"",
) -> Path:
    """Write a wheel with METADATA, WHEEL and RECORD.

    Args:
        folder: Where it goes.
        files: Content by path.
        name: Its file name.
        dist_info: Its folder of metadata.
        method: How members are packed.
        executable: Paths that get an x.
        metadata: METADATA; empty for that of the folder's name.
        streamed: Write sizes behind the contents, in data descriptors, as writers to a pipe do.
    """
    own_name, _, own_version = dist_info.removesuffix(".dist-info").rpartition("-")
    given = {
        **files,
        f"{dist_info}/METADATA": metadata
        or f"Metadata-Version: 2.1\nName: {own_name}\nVersion: {own_version}\n".encode(),
        f"{dist_info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},{_digest(data)},{len(data)}\n" for path, data in given.items())
    given[f"{dist_info}/RECORD"] = f"{record}{dist_info}/RECORD,,\n".encode()
    path = folder / name
    stream = _Pipe() if streamed else BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for member, data in given.items():
            info = zipfile.ZipInfo(member, (2020, 1, 1, 0, 0, 0))
            info.compress_type = method
            info.external_attr = (0o100755 if member in executable else 0o100644) << 16
            with archive.open(info, "w", force_zip64=streamed) as target:
                target.write(data)
    path.write_bytes(stream.getvalue())
    return path


def damage_stream(path: Path, member: str) -> None:
    """Change one byte in the middle of the deflate stream of a member."""
    spliced = open_wheel(path, path.name).contents[member].spliced
    assert spliced is not None
    content = bytearray(path.read_bytes())
    content[spliced.offset + spliced.size // 2] ^= 0xFF
    path.write_bytes(bytes(content))


def patched(path: Path, offset_in_directory: int, data: bytes) -> None:
    """Change bytes of the first entry of a zip's directory."""
    content = bytearray(path.read_bytes())
    start = content.index(b"PK\x01\x02") + offset_in_directory
    content[start : start + len(data)] = data
    path.write_bytes(bytes(content))


def shared_library(needs: tuple[str, ...], *, padding: int = 0) -> bytes:
    """A 64-bit ELF file that asks for some libraries, and has nothing else.

    Args:
        needs: Sonames.
        padding: Zeros between the names and what refers to them.
    """
    names = b"\0" + b"".join(name.encode() + b"\0" for name in needs)
    head = 64 + 2 * 56
    offsets = [names.index(name.encode() + b"\0") for name in needs]
    dynamic_at = head + len(names) + padding
    dynamic = b"".join(struct.pack("<qQ", 1, offset) for offset in offsets)
    dynamic += struct.pack("<qQqQ", 5, head, 0, 0)
    size = dynamic_at + len(dynamic)
    elf = b"\x7fELF\x02\x01\x01" + bytes(9)
    elf += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    elf += struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, size, size, 4096)
    elf += struct.pack("<IIQQQQQQ", 2, 4, dynamic_at, dynamic_at, 0, len(dynamic), len(dynamic), 8)
    return elf + names + bytes(padding) + dynamic


def _digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


class _Pipe(BytesIO):
    """A stream that cannot go back."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_where: int) -> int:
        raise OSError("a pipe")

    def tell(self) -> int:
        raise OSError("a pipe")

"""Run files as makeself writes them: a header in each of its forms, and archives behind it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

EULA = b"End User License Agreement\n"
NESTED = "run_files/cuda-linux.9.0.176-22781540.run"


class Form(Enum):
    """How a header states its own number of lines, by the first version of makeself that does."""

    V2_1_1 = 'offset=`head -{lines} "$0" | wc -c | tr -d " "`'
    V2_1_2 = '\toffset=`head -n {lines} "$1" | wc -c | tr -d " "`'
    V2_4_1 = 'skip="{lines}"'


def run_file(
    *archives: bytes,
    form: Form = Form.V2_1_2,
    lines: int = 20,
    claims: str = "",
    fields: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """A run file.

    Args:
        archives: What lies behind the header.
        form: Form of the header.
        lines: Lines of the header.
        claims: Number of lines that the header states; empty for the right one.
        fields: Fields in place of the right ones; `totalsize` is absent otherwise, and `SHA` before 2.4.
    """
    stated = {
        "CRCsum": " ".join(crc_of(each) for each in archives),
        "MD5": " ".join(hashlib.md5(each, usedforsecurity=False).hexdigest() for each in archives),
        "filesizes": " ".join(str(len(each)) for each in archives),
        **fields,
    }
    head = ["#!/bin/sh", "# This script was generated using Makeself"]
    head += [f'{name}="{value}"' for name, value in stated.items()]
    head += [form.value.format(lines=claims or lines)]
    head += [f"# line {number}: what a shell would run" for number in range(len(head) + 1, lines + 1)]
    return "".join(f"{line}\n" for line in head).encode() + b"".join(archives)


def crc_of(content: bytes) -> str:
    """The checksum of some bytes as `cksum` prints it."""
    crc = 0
    for byte in content + len(content).to_bytes((len(content).bit_length() + 7) // 8, "little"):
        crc = crc << 8 & 0xFFFFFFFF ^ _TABLE[crc >> 24 ^ byte]
    return str(crc ^ 0xFFFFFFFF)


def _remainder(byte: int) -> int:
    crc = byte << 24
    for _ in range(8):
        crc = (crc << 1 ^ (0x04C11DB7 if crc & 1 << 31 else 0)) & 0xFFFFFFFF
    return crc


_TABLE = tuple(_remainder(byte) for byte in range(256))

"""SIF files, the format of Apptainer and Singularity: a header, a table of descriptors, and a squashfs.

Written without Apptainer, whose own files differ from build to build: it compresses the tree again, and records the
time and a random identifier. Here both follow from the image, so that the same squashfs gives the same bytes.

Source: https://github.com/apptainer/sif/blob/v2.20.0/pkg/sif/sif.go and descriptor.go; read by Apptainer 1.4.5.
"""

from __future__ import annotations

import shutil
import struct
import uuid
from pathlib import Path

from envbuilder.core.files import CHUNK, replacing

_HEADER = struct.Struct("<32s10s3s3s16sqqqqqqqq")
_DESCRIPTOR = struct.Struct("<i?IIIqqqqqqq128s384s")
_PARTITION = struct.Struct("<ii3s")
_LAUNCH = b"#!/usr/bin/env run-singularity\n"
_MAGIC = b"SIF_MAGIC"
_VERSION = b"01"
_AMD64 = b"02"
_PARTITION_TYPE = 0x4004
_SQUASHFS, _PRIMARY_SYSTEM = 1, 2
_FIRST_GROUP = 0xF0000001
_TABLE = 4096
_DESCRIPTORS = 48
_OBJECTS = _TABLE + _DESCRIPTORS * _DESCRIPTOR.size
_PAGE = 4096


def write_sif(squashfs: Path, out: Path, *, digest: str, epoch: int) -> None:
    """Write a SIF file; the bytes depend on the content of the squashfs and the other arguments only.

    The digest of the image decides the identifier of the file; `epoch` is its creation time, in seconds since 1970.
    The file appears only after it is complete.
    """
    size = squashfs.stat().st_size
    offset = -(-_OBJECTS // _PAGE) * _PAGE
    padded = offset - _OBJECTS + size
    identifier = uuid.uuid5(uuid.NAMESPACE_URL, digest).bytes
    table = (_DESCRIPTORS - 1, _DESCRIPTORS, _TABLE, _DESCRIPTORS * _DESCRIPTOR.size, _OBJECTS, padded)
    partition = _PARTITION.pack(_SQUASHFS, _PRIMARY_SYSTEM, _AMD64)
    is_used, number, no_link, owner = True, 1, 0, (0, 0)
    with replacing(out) as stream:
        stream.write(_HEADER.pack(_LAUNCH, _MAGIC, _VERSION, _AMD64, identifier, epoch, epoch, *table))
        stream.seek(_TABLE)
        stream.write(
            _DESCRIPTOR.pack(
                *(_PARTITION_TYPE, is_used, number, _FIRST_GROUP, no_link),
                *(offset, size, padded, epoch, epoch, *owner, b"rootfs", partition),
            )
        )
        stream.seek(offset)
        with squashfs.open("rb") as source:
            shutil.copyfileobj(source, stream, CHUNK)

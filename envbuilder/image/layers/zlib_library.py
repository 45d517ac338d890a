"""Raw deflate streams at level 6 with the bytes of the original zlib, also if this Python uses a replacement of it.

Fedora 40, RHEL 10 and their derivatives use zlib-ng in place of zlib: it packs differently, and the digests of layers
depend on the bytes. In this case the zlib of the image's base is called instead of the host's. It runs in
this process, outside of any sandbox, so only files with digests known to this release are loaded.

Source: zlib 1.2.13, 1.3.1 and 1.3.2 give the same bytes at level 6, zlib-ng 2.1 and 2.2 others (measured 2026-11);
https://fedoraproject.org/wiki/Changes/ZlibNGTransition
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import zlib
from collections.abc import Callable, Collection, Iterable
from functools import cache
from typing import Protocol, TypeAlias

from envbuilder.core.errors import ToolFailed
from envbuilder.oci.tar.members import Kind, Member

_LEVEL = 6
_RAW = -15
_MEMORY = 8
"""zlib's default (`DEF_MEM_LEVEL`), which Python uses too."""

_OUTPUT = 1 << 18
_NO_FLUSH = 0
_OK, _STREAM_END, _BUFFER_ERROR = 0, 1, -5
_LIBRARY = re.compile(r"(usr/)?lib/x86_64-linux-gnu/libz\.so\.1(\.\d+)+")
KNOWN = frozenset(
    {
        "062372f2053424d8bafd9378ebdcc29a08d7e1850342b3fd5a0e73462ed84901",  # Debian 11: 1:1.2.11.dfsg-2+deb11u2
        "7e2a72b4c4b38c61e6962de6e3f4a5e9ae692e732c68deead10a7ce2135a7f68",  # Debian 12: 1:1.2.13.dfsg-1
        "85590dd58edf5445e18bc7193e5ebc01ac5841f1ae187e97705a662e90c6421e",  # Debian 13: 1:1.3.dfsg+really1.3.1-1+b1
    }
)
"""SHA-256 of `libz.so.1.…` in Debian's zlib1g for amd64. Source: the packages, unpacked 2026-11-22; for the next one,
`dpkg-deb -x` and `sha256sum`."""

_SAMPLE = "b17f5e069c25301847293ccf305ab451985d6cdd134c5a5b231af551217ef6e0"


class Compressor(Protocol):
    """The interface of the standard library's compressors."""

    def compress(self, data: bytes, /) -> bytes:
        """Add bytes; return packed ones."""
        ...

    def flush(self) -> bytes:
        """Return the remaining bytes."""
        ...


class DeflateCompressor(Compressor, Protocol):
    """The interface of the standard library's compressors of deflate streams."""

    def flush(self, mode: int = zlib.Z_FINISH, /) -> bytes:
        """Return the remaining bytes; with `Z_SYNC_FLUSH`, the stream ends with a whole byte and may be continued."""
        ...


Deflate: TypeAlias = Callable[[], DeflateCompressor]
"""Starts a raw deflate stream."""


def of_host() -> DeflateCompressor:
    """Start a stream of this Python's zlib, which may be a replacement."""
    return zlib.compressobj(_LEVEL, zlib.DEFLATED, _RAW)


def original(
    members: Callable[[], Iterable[Member]], host: Deflate = of_host, known: Collection[str] = KNOWN
) -> Deflate:
    """Return a compressor with the bytes that locks expect: this Python's zlib, else the one among some files.

    Args:
        members: Returns the files of the base; only called if this Python has a replacement of zlib.
        host: The zlib of this Python.
        known: SHA-256 of the libraries that may be loaded.

    Raises:
        ToolFailed: This Python has a replacement, and the base has no known zlib.
    """
    if is_original(host):
        return host
    for member in members():
        if member.kind is Kind.FILE and _LIBRARY.fullmatch(member.path):
            content = member.read()
            if hashlib.sha256(content).hexdigest() in known:
                return of_library(content)
    raise ToolFailed(
        "the zlib of this Python is a replacement such as zlib-ng, whose output differs from that of zlib, and the "
        "base has no zlib of Debian 11 to 13 that could be used instead",
        hint="use --layer-format tar, which needs no zlib, or a Python with the original zlib, such as Debian's",
    )


def host_deflate() -> Deflate:
    """Return this Python's zlib.

    Raises:
        ToolFailed: It is a replacement.
    """
    return original(tuple)


def is_original(deflate: Deflate) -> bool:
    """Return True if a compressor gives the bytes of the original zlib for a sample."""
    sample = b"".join(b"%d: the quick brown fox, %x\n" % (number, number * number) for number in range(4000))
    packer = deflate()
    return hashlib.sha256(packer.compress(sample) + packer.flush()).hexdigest() == _SAMPLE


@cache
def of_library(content: bytes) -> Deflate:
    """Return the compressor of a shared library.

    Args:
        content: The file `libz.so.1.…` for this machine.

    Raises:
        ToolFailed: It cannot be loaded.
    """
    # A file in memory: the cache directory may be mounted noexec. It stays open while the library is loaded, because
    # the loader identifies a library by its path.
    descriptor = os.memfd_create("libz.so.1")
    with os.fdopen(descriptor, "wb", closefd=False) as file:
        file.write(content)
    try:
        # Its own functions take precedence over those of the same name in the zlib of the host.
        library = ctypes.CDLL(f"/proc/self/fd/{descriptor}", mode=os.RTLD_LOCAL | os.RTLD_NOW | os.RTLD_DEEPBIND)
    except OSError as error:
        os.close(descriptor)
        raise ToolFailed(
            f"the zlib of the base cannot be loaded: {error}", hint="use --layer-format tar, which needs no zlib"
        ) from error
    library.zlibVersion.restype = ctypes.c_char_p
    return lambda: _Stream(library)


class ZlibState(ctypes.Structure):
    """The structure `z_stream` of zlib.h on 64 bits."""

    _fields_ = (
        ("next_in", ctypes.c_char_p),
        ("avail_in", ctypes.c_uint),
        ("total_in", ctypes.c_ulong),
        ("next_out", ctypes.c_void_p),
        ("avail_out", ctypes.c_uint),
        ("total_out", ctypes.c_ulong),
        ("msg", ctypes.c_char_p),
        ("state", ctypes.c_void_p),
        ("zalloc", ctypes.c_void_p),
        ("zfree", ctypes.c_void_p),
        ("opaque", ctypes.c_void_p),
        ("data_type", ctypes.c_int),
        ("adler", ctypes.c_ulong),
        ("reserved", ctypes.c_ulong),
    )


class _Stream:
    """One stream of a library; frees its memory when it is flushed or dropped."""

    _is_open = False

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._state = ZlibState()
        self._output = ctypes.create_string_buffer(_OUTPUT)
        started = library.deflateInit2_(
            *(ctypes.byref(self._state), _LEVEL, zlib.DEFLATED, _RAW, _MEMORY, zlib.Z_DEFAULT_STRATEGY),
            *(library.zlibVersion(), ctypes.sizeof(ZlibState)),
        )
        self._is_open = started == _OK
        if not self._is_open:
            raise ToolFailed(f"the zlib of the base does not start: {started}", hint="use --layer-format tar")

    def compress(self, data: bytes, /) -> bytes:
        """See `Compressor.compress`."""
        return self._run(data, _NO_FLUSH)

    def flush(self, mode: int = zlib.Z_FINISH, /) -> bytes:
        """See `DeflateCompressor.flush`."""
        packed = self._run(b"", mode)
        if mode == zlib.Z_FINISH:
            self._end()
        return packed

    def __del__(self) -> None:
        self._end()

    def _run(self, data: bytes, flush: int) -> bytes:
        self._state.next_in, self._state.avail_in = data, len(data)
        pieces = []
        while True:
            self._state.next_out, self._state.avail_out = ctypes.addressof(self._output), _OUTPUT
            status = self._library.deflate(ctypes.byref(self._state), flush)
            if status not in {_OK, _STREAM_END, _BUFFER_ERROR}:
                raise ToolFailed(f"the zlib of the base failed: {status}", hint="use --layer-format tar")
            pieces.append(ctypes.string_at(self._output, _OUTPUT - self._state.avail_out))
            if self._state.avail_out:
                return b"".join(pieces)

    def _end(self) -> None:
        if self._is_open:
            self._is_open = False
            self._library.deflateEnd(ctypes.byref(self._state))

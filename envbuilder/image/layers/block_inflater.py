"""Deflate streams, unpacked block by block: where each ends, which only the C interface of zlib reports.

The zlib of this machine is used, whichever it is: content and blocks are properties of the stream.

Source: `inflate` with `Z_BLOCK` in zlib.h, https://zlib.net/manual.html
"""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from envbuilder.core.errors import ToolMissing
from envbuilder.image.layers.zlib_library import ZlibState

_LIBRARY = "libz.so.1"
_RAW = -15
_OUTPUT = 1 << 18
_BLOCK = 5
_OK, _STREAM_END, _BUFFER_ERROR = 0, 1, -5
_BITS, _AT_END = 63, 128
"""Parts of `data_type`: bits that were read and not used, and whether the end of a block was reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockEnd:
    """The end of a block.

    Attributes:
        bit: Position in the stream.
        byte: Position in the content.
    """

    bit: int
    byte: int


class BlockInflater:
    """Unpacks one raw deflate stream that is given in pieces.

    Raises:
        ToolMissing: This machine has no zlib.
    """

    def __init__(self) -> None:
        self._library = _zlib()
        self._state = ZlibState()
        self._output = ctypes.create_string_buffer(_OUTPUT)
        self._given = 0
        self._position = 0
        self._unpacked = 0
        self._is_whole = False
        version = self._library.zlibVersion()
        if self._library.inflateInit2_(ctypes.byref(self._state), _RAW, version, ctypes.sizeof(ZlibState)) != _OK:
            raise MemoryError

    def unpack(self, piece: bytes) -> Iterator[tuple[bytes, BlockEnd | None]]:
        """Yield the content of the next piece, each part with the end of a block if one ends there.

        Raises:
            zlib.error: The stream is damaged, or has other bytes after its end.
        """
        if self._is_whole and piece:
            raise zlib.error("other bytes follow the end of the stream")
        self._given += len(piece)
        self._state.next_in, self._state.avail_in = piece, len(piece)
        while not self._is_whole:
            data, position = self._step()
            has_moved = position != self._position
            self._position = position
            self._unpacked += len(data)
            is_end = has_moved and bool(self._state.data_type & _AT_END)
            if data or is_end:
                yield data, BlockEnd(bit=position, byte=self._unpacked) if is_end else None
            elif not has_moved:
                break
        if self._is_whole and self._state.avail_in:
            raise zlib.error("other bytes follow the end of the stream")

    def require_end(self) -> None:
        """Raise zlib.error unless all of the stream was given."""
        if not self._is_whole:
            raise zlib.error("the stream is incomplete")

    def close(self) -> None:
        """Free the memory of the library."""
        self._library.inflateEnd(ctypes.byref(self._state))

    def _step(self) -> tuple[bytes, int]:
        """Unpack up to the end of the input, the output or the block; return the content and the position in bits."""
        self._state.next_out, self._state.avail_out = ctypes.addressof(self._output), _OUTPUT
        status = self._library.inflate(ctypes.byref(self._state), _BLOCK)
        if status not in {_OK, _STREAM_END, _BUFFER_ERROR}:
            raise zlib.error(f"invalid data near byte {self._given - self._state.avail_in}")
        self._is_whole = status == _STREAM_END
        data = ctypes.string_at(self._output, _OUTPUT - self._state.avail_out)
        return data, (self._given - self._state.avail_in) * 8 - (self._state.data_type & _BITS)


@cache
def _zlib() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError as error:
        raise ToolMissing(
            f"layers in the format estargz require the library {_LIBRARY}: {error}",
            hint="install zlib (in Debian: `apt-get install zlib1g`), or use another --layer-format",
        ) from error
    library.zlibVersion.restype = ctypes.c_char_p
    return library

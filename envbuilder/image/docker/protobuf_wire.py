"""A decoder of the protobuf wire format, limited to progress messages: fields of one message, in file order.

Source: https://protobuf.dev/programming-guides/encoding/, read 2026-11. The protobuf package would be larger, and
would conflict with the version that TensorFlow pins if both are installed in one environment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_WIDTH = {_FIXED64: 8, _FIXED32: 4}
_LONGEST_VARINT = 10
_SIGN_BIT = 1 << 63


class MalformedMessage(ValueError):
    """These bytes are not a protobuf message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a message.

    Attributes:
        number: Its number in the `.proto` file.
        integer: Its value when it is a varint, read as a signed 64-bit number; else 0.
        payload: Its bytes if it is a string, bytes, a message or of fixed width; else empty.
    """

    number: int
    integer: int
    payload: bytes

    @property
    def text(self) -> str:
        """The payload as text; bytes that are not UTF-8 are replaced, since names are only displayed."""
        return self.payload.decode("utf-8", "replace")


def fields(message: bytes) -> Iterator[Field]:
    """Yield all fields, known or not.

    Raises:
        MalformedMessage: A field is truncated, or has a wire type that no current encoder writes.
    """
    position = 0
    while position < len(message):
        key, position = _varint(message, position)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise MalformedMessage("a field has the number 0")
        if kind == _VARINT:
            value, position = _varint(message, position)
            yield Field(number=number, integer=_signed(value), payload=b"")
        else:
            start, position = _extent(message, position, kind)
            yield Field(number=number, integer=0, payload=message[start:position])


def _extent(message: bytes, position: int, kind: int) -> tuple[int, int]:
    if kind == _BYTES:
        width, position = _varint(message, position)
    elif kind in _FIXED_WIDTH:
        width = _FIXED_WIDTH[kind]
    else:
        raise MalformedMessage(f"a field has the unknown wire type {kind}")
    if width > len(message) - position:
        raise MalformedMessage("a field is cut off")
    return position, position + width


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(message[position : position + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, position + index + 1
    raise MalformedMessage("a number is cut off")


def _signed(value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if value & _SIGN_BIT else value

"""What others wrote (paths, messages of libraries), made fit to be shown: no hidden words, no moved cursor."""

from __future__ import annotations

from itertools import chain

_CONTROLS = chain(range(32), range(127, 160))
# They turn the direction of what follows, so that a line can read as another than it is.
_BIDIRECTIONAL = chain((0x061C, 0x200E, 0x200F), range(0x202A, 0x202F), range(0x2066, 0x206A))
_SURROGATES = range(0xD800, 0xE000)
_SPACES = {9: " ", 10: " ", 13: " ", 0x2028: " ", 0x2029: " "}
_REPLACED = dict.fromkeys(chain(_CONTROLS, _BIDIRECTIONAL, _SURROGATES), "\N{REPLACEMENT CHARACTER}") | _SPACES


def printable(text: str) -> str:
    r"""The text as one line that can be encoded; what nobody can see is shown as a replacement character.

    Example:
        >>> printable("libx:\n no such\x1b[31m file")
        'libx:  no such�[31m file'
    """
    return text.translate(_REPLACED)

"""Sanitized text for output (paths, messages of libraries): no hidden characters, no cursor movement."""

from __future__ import annotations

from itertools import chain

_CONTROLS = chain(range(32), range(127, 160))
# They change the direction of the following text, so that a line can look different from its content.
_BIDIRECTIONAL = chain((0x061C, 0x200E, 0x200F), range(0x202A, 0x202F), range(0x2066, 0x206A))
_SURROGATES = range(0xD800, 0xE000)
_SPACES = {9: " ", 10: " ", 13: " ", 0x2028: " ", 0x2029: " "}
_REPLACED = dict.fromkeys(chain(_CONTROLS, _BIDIRECTIONAL, _SURROGATES), "\N{REPLACEMENT CHARACTER}") | _SPACES


def printable(text: str) -> str:
    r"""Return the text as one line that can be encoded, with invisible characters replaced.

    Example:
        >>> printable("libx:\n no such\x1b[31m file")
        'libx:  no such�[31m file'
    """
    return text.translate(_REPLACED)

"""Terminal output of a build step as clean lines of text."""

from __future__ import annotations

import re
from collections.abc import Iterator

# ECMA-48: control sequences (colours, cursor), operating system commands (titles), and two-byte escapes.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# Bounds the memory for a program that never ends its line.
_LONGEST_LINE = 64 * 1024


def clean(line: bytes) -> str:
    r"""Return one line as finally displayed by a terminal: the last state of a progress bar, without colours.

    Example:
        >>> clean(b"10%\r100% \x1b[32mdone\x1b[0m\r\n")
        '100% done'
    """
    shown = line.rstrip(b"\r\n").rpartition(b"\r")[2]
    return _CONTROL.sub("", _ESCAPE.sub("", shown.decode("utf-8", "replace")))


class LineSplitter:
    """Splits a stream that arrives in arbitrary pieces into lines; lines without visible text are left out."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> Iterator[str]:
        """Yield the lines that this piece completes."""
        *whole, rest = (self._rest + piece).split(b"\n")
        self._rest = rest
        yield from self._shown(whole)
        if len(self._rest) > _LONGEST_LINE:
            yield from self.flush()

    def flush(self) -> Iterator[str]:
        """Yield the last line of an ended stream, if it had no line end."""
        rest, self._rest = self._rest, b""
        yield from self._shown([rest])

    @staticmethod
    def _shown(lines: list[bytes]) -> Iterator[str]:
        for line in lines:
            cleaned = clean(line)
            if cleaned.strip():
                yield cleaned

"""Standard streams as inherited: closed, full, or a terminal that interprets control sequences."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_OWN = r"\x1b\[(?:0|1|2|3[0-7]|9[0-7]|38;5;\d{1,3})(?:;(?:0|1|2|3[0-7]|9[0-7]|38;5;\d{1,3})){0,2}m"
"""Our own control sequences: colours."""

_CONTROL = re.compile(
    rf"({_OWN})|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters, those that change the text direction (Unicode 15.1, Bidi_Control), and surrogates."""

_LONGEST = 20_000


def visible(text: str) -> str:
    r"""Return a text with an escape in place of each control character; our own colours stay.

    Example:
        >>> visible("a\x1b]0;title\x07b\u202ec")
        'a\\x1b]0;title\\x07b\\u202ec'
    """
    return _CONTROL.sub(lambda found: found[1] or _escape(ord(found[0])), text)


def foreign(text: str) -> str:
    r"""Return a message that may quote foreign text: no colours, lines after the first indented, limited length.

    An indented line cannot be confused with a message of ours.

    Example:
        >>> print(foreign("uv says:\nerror: \x1b[31mno"))
        uv says:
          error: \x1b[31mno
    """
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text) - _LONGEST} characters left out)"
    first, *rest = visible(cut.replace("\x1b", "\\x1b").replace("\r\n", "\n")).split("\n")
    return "\n".join([first, *(line if not line or line.startswith("  ") else f"  {line.lstrip()}" for line in rest)])


class VisibleText(io.TextIOWrapper):
    """A text stream on which only our own control sequences take effect."""

    def write(self, text: str, /) -> int:
        """Write `visible` text."""
        super().write(visible(text))
        return len(text)

    def write_unescaped(self, text: str) -> int:
        """Write text whose control characters are ours."""
        return super().write(text)


class _Unescaped(io.TextIOBase):
    """A stream for a library that draws: its control sequences take effect, and foreign text is escaped before."""

    def __init__(self, stream: VisibleText) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]  # io.TextIOBase has an attribute
        return self._stream.encoding

    def write(self, text: str, /) -> int:
        return self._stream.write_unescaped(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()


def unescaped(stream: TextIO) -> TextIO:
    """Return a stream for a library that draws on this one."""
    return _Unescaped(stream) if isinstance(stream, VisibleText) else stream  # type: ignore[return-value]


@contextmanager
def opened_streams() -> Iterator[None]:
    """Replace closed standard streams by the null device, and escape control characters in the others.

    Otherwise the first opened file would become standard error, and receive our messages.
    """
    while (free := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(free, True)  # noqa: FBT003  the function has no keyword
    os.close(free)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _shown(before[0], 1), _shown(before[1], 2)
    try:
        yield
    finally:
        for stream, old in zip((sys.stdout, sys.stderr), before, strict=True):
            if stream is not old and isinstance(stream, VisibleText):
                try:
                    stream.flush()
                except OSError:  # full: the rest must not fail again when Python ends
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
                stream.detach()
        sys.stdout, sys.stderr = before


def _shown(stream: object, descriptor: int) -> VisibleText:
    if stream is not None and type(stream) is not io.TextIOWrapper:
        return stream  # type: ignore[return-value]  # a stream of a test
    raw = stream.buffer if isinstance(stream, io.TextIOWrapper) else open(descriptor, "wb", closefd=False)  # noqa: SIM115
    return VisibleText(
        raw,
        encoding=stream.encoding if isinstance(stream, io.TextIOWrapper) else "utf-8",
        errors="backslashreplace",
        line_buffering=stream.line_buffering if isinstance(stream, io.TextIOWrapper) else True,
    )


def _escape(code: int) -> str:
    # From 0x7f on escaped as in JSON: a document stays the same document.
    return f"\\x{code:02x}" if code < 0x7F else f"\\u{code:04x}"

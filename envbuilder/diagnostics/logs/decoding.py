"""Decoding of a log in any encoding to blocks of whole lines in UTF-8, and cleaning of a line."""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

BLOCK = 1 << 20
OVERLAP = 1 << 10
LONGEST_TEXT = 4096

# ECMA-48: control sequences (colours, cursor), titles, and two-byte escapes; the escape byte itself may be lost.
_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)?|[@-Z\\^_])|\[[0-9;]{1,8}m"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_ESCAPED = re.compile(r"\\([_*\[\]`#])")
# Prefixes of Docker, Kubernetes, Ray, MPI and of quoted text.
_CARRIER = re.compile(
    r"""(?:\{"log":")?(?:\[(?:pod/)?[\w./-]{1,80}\] )?(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,18}Z? )?"""
    r"""(?:std(?:out|err) [FP] )?"""
    r"""(?:\([\w-]{1,30} pid=[0-9]{1,8}\) |\[[0-9]{1,4},[0-9]{1,4}\]<std(?:out|err)>:|[>#|] )?"""
)
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " ", "\ufeff": None})


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    r"""Whole lines, or a piece of one line that is longer than a block.

    Attributes:
        first: Number of its first line, from 1.
        data: UTF-8, lines ended by `\n`, the last without its end.
    """

    first: int
    data: bytes


def blocks(read: Callable[[int], bytes]) -> Iterator[Block]:
    r"""Cut a stream into blocks of whole lines.

    A line that is longer than a block comes in pieces that overlap, all with its number.

    Args:
        read: Returns at most that many bytes, and none at the end.

    Example:
        >>> import io
        >>> [(block.first, block.data) for block in blocks(io.BytesIO(b"one\r\ntwo\nthree").read)]
        [(1, b'one\ntwo'), (3, b'three')]
    """
    rest, number = b"", 1
    for piece in _utf8(read):
        rest += piece
        end = rest.rfind(b"\n")
        if end >= 0:
            yield Block(first=number, data=_unix(rest[:end]))
            number += rest.count(b"\n", 0, end) + 1
            rest = rest[end + 1 :]
        elif len(rest) >= BLOCK:
            yield Block(first=number, data=_unix(rest))
            rest = rest[-OVERLAP:]
    if rest:
        yield Block(first=number, data=_unix(rest))


def _unix(data: bytes) -> bytes:
    return (data.replace(b"\r\n", b"\n") if b"\r\n" in data else data).removesuffix(b"\r")


def _utf8(read: Callable[[int], bytes]) -> Iterator[bytes]:
    first = read(BLOCK)
    encoding = _encoding(first)
    if encoding is None:
        yield first.removeprefix(codecs.BOM_UTF8)
        while piece := read(BLOCK):
            yield piece
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    piece = first
    while piece:
        yield decoder.decode(piece).encode("utf-8", "replace")
        piece = read(BLOCK)
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _encoding(start: bytes) -> str | None:
    """Return the name of the encoding if it is not a superset of ASCII; else an empty text."""
    for mark, name in (
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if start.startswith(mark):
            return name
    sample = start[:2000]
    half = len(sample) // 2
    if half > 8 and sample[1::2].count(0) > 0.6 * half:
        return "utf-16-le"
    if half > 8 and sample[::2].count(0) > 0.6 * half:
        return "utf-16-be"
    return None


def clean(line: bytes) -> str:
    r"""Return one line as readable text: without colours, control characters, escapes and prefixes.

    Example:
        >>> clean(b"\x1b[31mE\x1b[0m tensorflow/stream\\_executor &quot;x&quot;\r")
        'E tensorflow/stream_executor "x"'
    """
    text = line[:LONGEST_TEXT].decode("utf-8", "replace").translate(_QUOTES)
    if "\x1b" in text or "[0" in text:
        text = _ESCAPE.sub("", text)
    if "&" in text:
        text = html.unescape(text)
    if "\\" in text:
        text = _ESCAPED.sub(r"\1", text)
    if text.startswith('{"log":"'):
        text = text.partition('\\n","stream"')[0].replace('\\"', '"')
    text = _CONTROL.sub("", text)
    carrier = _CARRIER.match(text)
    return text[carrier.end() :] if carrier else text

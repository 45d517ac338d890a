"""Text in a page: escaped, and without invisible characters."""

from __future__ import annotations

from html import escape

from envbuilder.core.plain_text import printable


def text(value: str) -> str:
    """Return text between tags; a word in backticks becomes code.

    Example:
        >>> text("run `docker run --gpus all`, not <script>")
        'run <code>docker run --gpus all</code>, not &lt;script&gt;'
    """
    pieces = escape(printable(value)).split("`")
    if len(pieces) % 2 == 0:
        return "`".join(pieces)
    return "".join(f"<code>{piece}</code>" if number % 2 else piece for number, piece in enumerate(pieces))


def plain(value: str) -> str:
    """Return text between tags, unchanged otherwise."""
    return escape(printable(value))


def attribute(value: str) -> str:
    """Return the value of an attribute, with its quotes."""
    return f'"{escape(printable(value))}"'

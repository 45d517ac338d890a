"""Text in a page: escaped, and nothing in it that nobody can see."""

from __future__ import annotations

from html import escape

from envbuilder.core.plain_text import printable


def text(value: str) -> str:
    """Between tags; a word in backticks becomes code.

    Example:
        >>> text("run `docker run --gpus all`, not <script>")
        'run <code>docker run --gpus all</code>, not &lt;script&gt;'
    """
    pieces = escape(printable(value)).split("`")
    if len(pieces) % 2 == 0:
        return "`".join(pieces)
    return "".join(f"<code>{piece}</code>" if number % 2 else piece for number, piece in enumerate(pieces))


def plain(value: str) -> str:
    """Between tags, as it is."""
    return escape(printable(value))


def attribute(value: str) -> str:
    """The value of an attribute, with its quotes."""
    return f'"{escape(printable(value))}"'

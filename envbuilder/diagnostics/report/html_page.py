"""HTML pages from templates: without external resources and scripts, for light, dark and print."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import TYPE_CHECKING

from envbuilder.core.plain_text import printable
from envbuilder.core.units import quantity

if TYPE_CHECKING:
    from jinja2 import Environment


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def html_page(package: str, name: str, **values: object) -> str:
    """Return a page; every value in it is text, unless a filter made `Html` of it.

    Args:
        package: Package with the template, and with the files that it includes.
        name: File of the template, which extends `page.html.j2`.
        values: What it shows.
    """
    return _environment(package).get_template(name).render(values)


@cache
def _environment(package: str) -> Environment:
    # Few commands write a page.
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    made = Environment(
        loader=ChoiceLoader([PackageLoader(each, "") for each in (package, "envbuilder.diagnostics.report")]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  `finalize` escapes every value
        finalize=lambda value: value if isinstance(value, Html) else plain(str(value)),
    )
    made.filters.update(lines=lines, quantity=quantity, text=text)
    return made


def plain(value: str) -> Html:
    """Return text between tags, or in the quotes of an attribute."""
    return Html(escape(printable(value)))


def text(value: str) -> Html:
    """Return text between tags; a word in backticks becomes code.

    Example:
        >>> text("run `docker run --gpus all`, not <script>")
        'run <code>docker run --gpus all</code>, not &lt;script&gt;'
    """
    pieces = plain(value).split("`")
    if len(pieces) % 2 == 0:
        return Html("`".join(pieces))
    return Html("".join(f"<code>{piece}</code>" if number % 2 else piece for number, piece in enumerate(pieces)))


def lines(value: str) -> Html:
    """Return lines of text between tags."""
    return Html("\n".join(plain(line) for line in value.splitlines()))

"""One HTML page: without external resources and scripts, for light, dark and print."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources

from envbuilder.diagnostics.report.html_figures import plain

# Whatever a name or a message contains, the page can load and run nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def html_page(title: str, body: Iterable[str], style: str = "") -> str:
    """Return a page.

    Args:
        title: Text of the title.
        body: Lines of the body.
        style: Rules that follow those of every report.
    """
    lines = (
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{plain(title)}</title>",
        '<link rel="icon" href="data:,">',
        f"<style>\n{_common_style()}{style}</style>",
        "</head>",
        "<body>",
        *body,
        "</body>",
        "</html>",
    )
    return "\n".join(lines) + "\n"


def _common_style() -> str:
    """Return the style sheet: light, dark, narrow, print; without external resources."""
    return resources.files("envbuilder.diagnostics.report").joinpath("page.css").read_text(encoding="utf-8")

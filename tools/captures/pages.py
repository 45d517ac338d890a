"""Captures as pages, and as pictures where a browser is installed."""

from __future__ import annotations

import html
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.ansi import AnsiDecoder
from rich.color import Color
from rich.console import Console

from tools.captures.terminals import Capture

_FOREGROUND = ("#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5")
_BRIGHT = ("#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff")
"""Colours of xterm: the hardest on a light background. Source: XTerm-col.ad of xterm 380."""
_THEMES = {"dark": ("#000000", "#e5e5e5"), "light": ("#ffffff", "#000000")}
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_SECONDS = 120
_LINE, _CHARACTER, _TITLE, _MARGIN = 15, 6.63, 20, 10
"""Pixels of a line, a character, a title, and around a terminal, at a font size of 11 pixels."""
_SHEET = 1500
"""Most pixels of the height of a sheet, unless one capture is higher."""
_STYLE = (
    "<!doctype html><meta charset=utf-8><title>Terminal</title><style>"
    "body{margin:0;background:#888;font:12px sans-serif} h4{margin:0;padding:2px 8px;height:16px;overflow:hidden}"
    "div{display:flex;align-items:flex-start}"
    "pre{font:11px/15px 'DejaVu Sans Mono',monospace;padding:4px 8px;margin:0 4px 6px}"
    "</style>"
)


def page(captures: Iterable[Capture]) -> str:
    """Return a page with captures, each on both backgrounds."""
    parts = [_STYLE]
    for capture in captures:
        parts.append(f"<h4>{html.escape(capture.command)} ({capture.columns} columns)</h4><div>")
        for background, foreground in _THEMES.values():
            style = (
                f"background:{background};color:{foreground};width:{capture.columns}ch;min-width:{capture.columns}ch"
            )
            parts.append(f'<pre style="{style}">{"".join(_spans(capture.text, foreground, background))}</pre>')
        parts.append("</div>")
    return "\n".join(parts) + "\n"


def write_sheets(directory: Path, captures: Sequence[Capture]) -> int:
    """Write pictures of captures, several on a sheet; return how many, 0 without a browser.

    Args:
        directory: Directory; the files are named by the columns and a number.
        captures: In their order; those of a width stay together.
    """
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        return 0
    count = 0
    for columns in sorted({each.columns for each in captures}):
        for number, sheet in enumerate(_sheets([each for each in captures if each.columns == columns]), 1):
            _write_sheet(browser, directory / f"{columns:03}-{number:03}.png", sheet)
            count += 1
    return count


def _sheets(captures: Iterable[Capture]) -> Iterator[list[Capture]]:
    """Yield captures of one section that fit a sheet together."""
    sheet: list[Capture] = []
    for capture in captures:
        is_full = sum(map(_height, [*sheet, capture])) > _SHEET
        if sheet and (is_full or capture.section != sheet[0].section):
            yield sheet
            sheet = []
        sheet.append(capture)
    if sheet:
        yield sheet


def _height(capture: Capture) -> int:
    return _TITLE + (capture.text.count("\n") + 1) * _LINE + 2 * _MARGIN


def _write_sheet(browser: str, picture: Path, captures: Sequence[Capture]) -> None:
    """Write the picture of a sheet.

    Raises:
        CalledProcessError: The browser failed.
    """
    width = round(2 * (captures[0].columns * _CHARACTER + 3 * _MARGIN))
    height = sum(map(_height, captures))
    with tempfile.TemporaryDirectory(prefix="envbuilder-captures-") as profile:
        source = Path(profile, "sheet.html")
        source.write_text(page(captures), encoding="utf-8")
        options = (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--window-size={width},{height}",
        )
        own = (f"--user-data-dir={profile}", f"--screenshot={picture.resolve()}", source.as_uri())
        subprocess.run([browser, *options, *own], check=True, capture_output=True, timeout=_SECONDS)


def _spans(text: str, foreground: str, background: str) -> Iterator[str]:
    console = Console()
    # A style of tmux lasts until it is changed, also over ends of lines.
    for decoded in AnsiDecoder().decode(text):
        for segment in decoded.render(console, end="\n"):
            style = segment.style
            if style is None or not segment.text.strip():
                yield html.escape(segment.text)
                continue
            colour = _colour(style.color, foreground) if style.color else foreground
            css = [f"color:{colour}"]
            if style.dim:
                css = [f"color:color-mix(in srgb, {colour} 60%, {background})"]
            if style.bold:
                css.append("font-weight:bold")
            if style.underline:
                css.append("text-decoration:underline")
            if style.bgcolor:
                css.append(f"background:{_colour(style.bgcolor, background)}")
            yield f'<span style="{";".join(css)}">{html.escape(segment.text)}</span>'


def _colour(colour: Color, otherwise: str) -> str:
    if colour.number is None:
        return otherwise if colour.triplet is None else colour.triplet.hex
    if colour.number < len(_FOREGROUND):
        return _FOREGROUND[colour.number]
    if colour.number < len(_FOREGROUND) + len(_BRIGHT):
        return _BRIGHT[colour.number - len(_FOREGROUND)]
    return colour.get_truecolor().hex

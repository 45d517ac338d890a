"""See commands as a terminal shows them: `python -m tools.captures DIRECTORY --commands FILE [--in PROJECT]`.

Each command runs in tmux, in terminals of 80 and 120 columns. The page `index.html` has the captures on a dark and on
a light background, `index.txt` their text. Lines that the terminal had to break are listed at the end: a command folds
its lines itself, except those that are to be copied.
"""

from __future__ import annotations

import argparse
import html
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.ansi import AnsiDecoder
from rich.color import Color
from rich.console import Console
from rich.text import Text

_COLUMNS = (80, 120)
_ROWS = 50
_SECONDS = 120
_SERVER = "envbuilder-captures"
_FOREGROUND = ("#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5")
_BRIGHT = ("#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff")
"""Colours of xterm: the hardest on a light background. Source: XTerm-col.ad of xterm 380."""
_THEMES = {"dark": ("#000000", "#e5e5e5"), "light": ("#ffffff", "#000000")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What a terminal showed.

    Attributes:
        command: The command.
        columns: Width of the terminal.
        text: Its lines, with colours.
        broken: Lines that were longer than the terminal.
    """

    command: str
    columns: int
    text: str
    broken: tuple[str, ...]


def main() -> None:
    """Capture commands, and write the page.

    Raises:
        SystemExit: A line was longer than the terminal.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--commands", type=Path, required=True, help="file with one command on each line")
    parser.add_argument("--in", dest="project", type=Path, default=Path(), help="directory in which they run")
    parser.add_argument("--columns", type=int, action="append")
    given = parser.parse_args()
    captures = []
    for line in given.commands.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            captures += [captured(line, columns, given.project.resolve()) for columns in given.columns or _COLUMNS]
    given.directory.mkdir(parents=True, exist_ok=True)
    (given.directory / "index.html").write_text(page(captures), encoding="utf-8")
    (given.directory / "index.txt").write_text("\n".join(map(_plain, captures)), encoding="utf-8")
    broken = [f"{each.columns} columns: {each.command}: {line}" for each in captures for line in each.broken]
    if broken:
        sys.exit("\n".join(broken))


def captured(line: str, columns: int, folder: Path) -> Capture:
    """Run a command in a terminal; return what it shows at its end, or after the seconds that the line begins with.

    Args:
        line: A command for bash; `@5 COMMAND` is captured after five seconds and ended.
        columns: Width of the terminal.
        folder: Directory in which it runs.
    """
    seconds, command = _SECONDS, line
    if line.startswith("@"):
        word, _, command = line.partition(" ")
        seconds = int(word[1:])
    _tmux("kill-server", check=False)
    # What the pane shows after the end of the command stays until it was read.
    options = ("set", "-g", "remain-on-exit", "on", ";", "set", "-g", "remain-on-exit-format", "", ";")
    limits = ("set", "-g", "history-limit", "5000", ";")
    start = ("new-session", "-d", "-c", str(folder), "-x", str(columns), "-y", str(_ROWS))
    _tmux("-f", "/dev/null", "start-server", ";", *options, *limits, *start, f"bash -c {shlex.quote(command)}")
    end = time.monotonic() + seconds
    while time.monotonic() < end and _tmux("display", "-p", "#{pane_dead}").strip() != "1":
        time.sleep(0.1)
    text = _tmux("capture-pane", "-e", "-p", "-S", "-")
    joined = _tmux("capture-pane", "-J", "-p", "-S", "-")
    _tmux("kill-server", check=False)
    broken = tuple(each for each in map(str.rstrip, joined.splitlines()) if Text(each).cell_len > columns)
    return Capture(command=line, columns=columns, text=text.rstrip(), broken=broken)


def _tmux(*arguments: str, check: bool = True) -> str:
    done = subprocess.run(["tmux", "-L", _SERVER, *arguments], check=check, capture_output=True, text=True)
    return done.stdout


def _plain(capture: Capture) -> str:
    rule = "=" * capture.columns
    return f"{rule}\n$ {capture.command}\n{rule}\n{Text.from_ansi(capture.text).plain}\n"


def page(captures: list[Capture]) -> str:
    """Return the page with all captures on both backgrounds."""
    parts = [
        "<!doctype html><meta charset=utf-8><title>Terminal</title><style>",
        "body{font:14px sans-serif} pre{font:13px 'DejaVu Sans Mono',monospace;padding:8px;",
        "display:inline-block;margin:4px;vertical-align:top}</style>",
    ]
    for capture in captures:
        parts.append(f"<h4>{html.escape(capture.command)} ({capture.columns} columns)</h4>")
        for background, foreground in _THEMES.values():
            style = f"background:{background};color:{foreground};width:{capture.columns}ch"
            parts.append(f'<pre style="{style}">{"".join(_spans(capture.text, foreground, background))}</pre>')
    return "\n".join(parts) + "\n"


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


if __name__ == "__main__":
    main()

"""Display of messages: colours, the form of progress, and verbosity.

Options take precedence over settings, and settings over the conventions of terminals.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Protocol, TextIO

import click

from envbuilder.cli.output.folding import filled
from envbuilder.core.errors import EnvbuilderError

if TYPE_CHECKING:
    from envbuilder.wiring.settings import Settings

SCHEMA = 1
"""Of each line of `--progress json`."""


class Meaning(IntEnum):
    """The meaning of a text, and its colour: a number among the 256 of xterm.

    The sixteen colours that have names are different in each terminal: on white, the yellow of xterm has a contrast of
    1.7:1, the green of Visual Studio Code one of 2.6:1. Colours from 16 on are the same everywhere. These have at least
    3:1 against the backgrounds that the test lists; no colour has 4.5:1 against all of them. Words say the same as
    colours.

    Source: contrast ratio of WCAG 2.2, https://www.w3.org/TR/WCAG22/#contrast-minimum; computed by
    tests/unit/cli/output/test_palette.py.
    """

    GOOD = 29
    DOUBTFUL = 136
    BAD = 196
    NEUTRAL = 69


UNFILLED = 245
"""The part of a bar that is not filled."""


class Color(StrEnum):
    """When colours are used."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class ProgressForm(StrEnum):
    """The form of progress and of other messages on standard error."""

    AUTO = "auto"
    PLAIN = "plain"
    JSON = "json"


class Verbosity(StrEnum):
    """The amount of output on standard error."""

    QUIET = "quiet"
    NORMAL = "normal"
    VERBOSE = "verbose"


class Display(Protocol):
    """A part of the terminal that is redrawn; other lines appear above it."""

    def above(self, line: str) -> None:
        """Print a line above the display."""
        ...

    def between_steps(self, text: str) -> None:
        """Show what is being done while no step runs."""
        ...


@dataclass(slots=True)
class Terminal:
    """The output settings of the running command.

    Attributes:
        typed: Values of the options of the command line, by the keys of their settings.
        display: The display that is being redrawn; None for none.
        json_asked: Whether the result is to be one JSON document.
        warnings: Texts of warnings to print as soon as the command line is known, which decides their form.
    """

    typed: dict[str, str] = field(default_factory=dict)
    display: Display | None = None
    json_asked: bool = False
    json_printed: bool = False
    warnings: list[str] = field(default_factory=list)
    _chosen: dict[str, str] | None = None
    _environ: Mapping[str, str] = field(default_factory=dict)

    def begin(self) -> None:
        """Forget the command that ran before in this process."""
        self.typed.clear()
        self.warnings.clear()
        self.display = None
        self.json_asked = self.json_printed = False
        self._chosen = None

    @property
    def color(self) -> bool | None:
        """Whether to use colours; None if each stream decides: only terminals get them."""
        chosen = self._choice("color")
        if chosen in {Color.ALWAYS, Color.NEVER}:
            return chosen == Color.ALWAYS
        return color_of(self._environ)

    def colorful(self, stream: TextIO) -> bool:
        """Return True if text for a stream may have colours."""
        return stream.isatty() if self.color is None else self.color

    @property
    def form(self) -> ProgressForm:
        """The form of progress."""
        return ProgressForm(self._choice("progress") or ProgressForm.AUTO)

    @property
    def redraws(self) -> bool:
        """Whether standard error is a terminal on which lines can be redrawn."""
        is_auto = self.form is ProgressForm.AUTO
        return is_auto and sys.stderr.isatty() and self._environ.get("TERM", "dumb") not in {"", "dumb"}

    @property
    def verbosity(self) -> Verbosity:
        """How much is printed."""
        return Verbosity(self._choice("verbosity") or Verbosity.NORMAL)

    def load(self, settings: Settings) -> None:
        """Take the values that no option has from the settings."""
        # The module is imported with the settings; `envbuilder --help` needs neither.
        from envbuilder.wiring.configuration import TERMINAL_SETTINGS  # noqa: PLC0415

        self._environ = settings.environ
        found = {each.key: settings.words(each) for each in TERMINAL_SETTINGS}
        self._chosen = {key: words[0] for key, words in found.items() if words}

    def _choice(self, key: str) -> str:
        if self._chosen is None:
            self._load()
        return self.typed.get(key) or (self._chosen or {}).get(key, "")

    def _load(self) -> None:
        """Load the settings; variables only, if the configuration is invalid: this may be what has to be printed."""
        from envbuilder.wiring.settings import environment, settings  # noqa: PLC0415

        self._chosen, self._environ = {}, environment()
        try:
            self.load(settings())
        except EnvbuilderError:
            return


TERMINAL = Terminal()
"""That of this process, as `sys.stderr` is its stream."""


def color_of(environ: Mapping[str, str]) -> bool | None:
    """Return whether the environment asks for colours; None if it leaves the choice to each stream.

    Source: https://no-color.org, https://force-color.org and https://bixense.com/clicolors.

    Example:
        >>> color_of({"NO_COLOR": "1", "FORCE_COLOR": "1"}), color_of({"CLICOLOR": "0"}), color_of({"TERM": "xterm"})
        (False, False, None)
    """
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR") or environ.get("CLICOLOR_FORCE", "0") not in {"", "0"}:
        return True
    return False if environ.get("CLICOLOR") == "0" or environ.get("TERM") == "dumb" else None


def wrapped(text: str, used: int = 0) -> str:
    """Return a message whose lines fit the terminal that shows standard error; words are not split.

    `used` columns are taken in front of it.
    """
    if not sys.stderr.isatty():
        return text
    columns = shutil.get_terminal_size().columns
    return "\n".join(
        _fitting(line, columns, used if number == 0 else 0) for number, line in enumerate(text.split("\n"))
    )


def _fitting(line: str, columns: int, used: int) -> str:
    if len(line) + used <= columns:
        return line
    indent = " " * (len(line) - len(line.lstrip()))
    return filled(line.strip(), columns, first=" " * used + indent, rest=f"{indent}  ")[used:]


def say(line: str) -> None:
    """Print a line on standard error, above what is being redrawn there."""
    if TERMINAL.display is not None:
        TERMINAL.display.above(line)
    else:
        click.echo(line, err=True, color=TERMINAL.color)


def say_result(line: str) -> None:
    """Print a line of the result on standard output, above what is being redrawn on the same terminal."""
    if TERMINAL.display is not None and sys.stdout.isatty():
        TERMINAL.display.above(line)
    else:
        click.echo(line)


def say_event(event: str, **fields: object) -> None:
    """Print an event as one line of JSON on standard error."""
    click.echo(json.dumps({"schema": SCHEMA, "event": event, **fields}, ensure_ascii=False), err=True)

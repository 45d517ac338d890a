"""Lines that fit a terminal: colours take no columns, and commands in backticks stay whole."""

from __future__ import annotations

import re
import textwrap

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_RESET = "\x1b[0m"
_COMMAND = re.compile(r"`[^`\n]+`")
_BLANK = "\ue000"
"""Stands for a blank inside of a command while lines are broken at blanks; of the private use area of Unicode."""


def filled(text: str, columns: int, *, first: str = "", rest: str = "", hyphens: bool = False) -> str:
    """Return a text as lines of at most `columns` columns, if no word is longer.

    Args:
        text: One line; it may have colours.
        columns: Maximum.
        first: What stands before the first line.
        rest: What stands before all others.
        hyphens: Also break lines after hyphens.

    Example:
        >>> print(filled("run `a b` or `c d`", 10))
        run `a b`
        or `c d`
    """
    plain = _COLOUR.sub("", text)
    whole = _COMMAND.sub(lambda found: found[0].replace(" ", _BLANK) if len(found[0]) < columns else found[0], plain)
    lines = textwrap.fill(
        whole,
        columns,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=hyphens,
    ).replace(_BLANK, " ")
    return lines if plain == text else _coloured(lines, text, len(first))


def _coloured(lines: str, text: str, start: int) -> str:
    """Return lines with the colours of a text: each stands before or after the same visible character as there."""
    places: dict[int, str] = {}
    visible = end = 0
    for found in _COLOUR.finditer(text):
        visible += _visible(text[end : found.start()])
        # A colour begins before the next character, and ends after the last one, not after blanks.
        place = visible - 1 if found[0] == _RESET else visible
        key = 2 * place + (found[0] == _RESET)
        places[key] = places.get(key, "") + found[0]
        end = found.end()
    made, count = [lines[:start]], 0
    for character in lines[start:]:
        if character.isspace():
            made.append(character)
            continue
        made += [places.pop(2 * count, ""), character, places.pop(2 * count + 1, "")]
        count += 1
    return "".join([*made, *places.values()])


def _visible(text: str) -> int:
    return sum(not character.isspace() for character in text)

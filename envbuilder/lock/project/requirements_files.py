"""Requirements files of pip, with the files that they include."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from posixpath import dirname, join, normpath

from envbuilder.lock.project.clues import Confidence, Reading, SourceLine, UnusedLine, requirement_clues

_COMMENT = re.compile(r"(^|\s+)#.*$")
_OPTIONS_OF_REQUIREMENT = re.compile(r"\s--?(?:hash|global-option|install-option|config-settings?)\b.*$")
_INCLUDES = re.compile(r"(-r|--requirement|-c|--constraint)[ =]?\s*(.+)")
_ADDRESS = re.compile(r"(-e|--editable)\b|[a-z+]+://|git\+|\.{0,2}/|.*\.(whl|zip|tar\.gz)$")


def requirements_readings(files: Mapping[str, str], name: str, seen: frozenset[str] = frozenset()) -> Iterator[Reading]:
    """Yield what a requirements file says, included files in their place.

    Args:
        files: Texts of the project by relative path.
        name: Path of the file.
        seen: Files that include this one.

    Source: https://pip.pypa.io/en/stable/reference/requirements-file-format/ (read 2026-11-23).
    """
    for number, text in joined_lines(files[name]):
        line = SourceLine(file=name, number=number, text=text)
        included = _INCLUDES.fullmatch(text)
        if included:
            yield from _included(files, line, included[1], included[2].strip(), seen | {name})
        else:
            yield from _line(text, line)


def joined_lines(text: str) -> Iterator[tuple[int, str]]:
    r"""Yield the lines of a file without comments and with continuations joined, each with its first number.

    Example:
        >>> list(joined_lines("a \\\n b  # c\n\nd"))
        [(1, 'a  b'), (4, 'd')]
    """
    parts: list[str] = []
    first = 0
    for number, line in enumerate(text.splitlines(), 1):
        first = first or number
        if line.endswith("\\"):
            parts.append(line[:-1])
            continue
        whole = _COMMENT.sub("", "".join([*parts, line])).strip()
        if whole:
            yield first, whole
        parts, first = [], 0


def _line(text: str, line: SourceLine) -> Iterator[Reading]:
    if _ADDRESS.match(text):
        yield UnusedLine(line=line, reason="is installed from an address; an index does not have it")
    elif text.startswith("-"):
        yield UnusedLine(line=line, reason="is an option of pip; sources belong under `sources:`")
    else:
        yield from requirement_clues(_OPTIONS_OF_REQUIREMENT.sub("", text), line, Confidence.STATED)


def _included(
    files: Mapping[str, str], line: SourceLine, option: str, path: str, seen: frozenset[str]
) -> Iterator[Reading]:
    target = normpath(join(dirname(line.file), path))
    if target in seen:
        yield UnusedLine(line=line, reason="includes itself")
    elif target not in files:
        yield UnusedLine(line=line, reason="names a file that is not in the project")
    elif option in {"-c", "--constraint"}:
        # A constraint is a bound of a package that something else requires.
        yield from (each for each in requirements_readings(files, target, seen) if isinstance(each, UnusedLine))
        yield UnusedLine(line=line, reason="is a file of constraints: they are not taken over")
    else:
        yield from requirements_readings(files, target, seen)


def is_development(name: str) -> bool:
    """Return True if a file holds requirements of development only, by its name.

    Example:
        >>> is_development("requirements-dev.txt"), is_development("requirements.txt")
        (True, False)
    """
    return bool(re.search(r"(^|[-_/.])(dev|develop|test|tests|testing|docs?|lint|ci)([-_/.]|$)", name))

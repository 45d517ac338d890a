"""Compare versions of Debian packages.

Source: Debian Policy 5.6.12, https://manpages.debian.org/bookworm/dpkg-dev/deb-version.7.en.html
"""

from __future__ import annotations

import re
from functools import cmp_to_key

_PART = re.compile(r"([^0-9]*)([0-9]*)")


def compare(one: str, two: str) -> int:
    """Return a negative number if the first version is older, a positive one if it is newer, else 0.

    Example:
        >>> compare("1.0~rc1", "1.0") < 0 < compare("1:0.5", "2.0")
        True
    """
    first, second = _split(one), _split(two)
    return _order_of(first[0], second[0]) or _compare(first[1], second[1]) or _compare(first[2], second[2])


newest = cmp_to_key(compare)
"""Key function for `max` and `sorted`."""


def fits(version: str, relation: str, other: str) -> bool:
    """Return True if a version has a relation (`<<`, `<=`, `=`, `>=`, `>>`) to another."""
    order = compare(version, other)
    return {"<<": order < 0, "<=": order <= 0, "=": order == 0, ">=": order >= 0, ">>": order > 0}[relation]


def _split(version: str) -> tuple[str, str, str]:
    epoch, colon, rest = version.partition(":")
    if not colon or not (epoch.isascii() and epoch.isdigit()):
        epoch, rest = "0", version
    upstream, dash, revision = rest.rpartition("-")
    return epoch, (upstream if dash else rest), (revision if dash else "")


def _compare(one: str, two: str) -> int:
    while one or two:
        first, second = _PART.match(one), _PART.match(two)
        if first is None or second is None:
            break
        words = [_order(first[1]), _order(second[1])]
        if words[0] != words[1]:
            return -1 if words[0] < words[1] else 1
        if order := _order_of(first[2], second[2]):
            return order
        one, two = one[first.end() :], two[second.end() :]
    return 0


def _order_of(one: str, two: str) -> int:
    """Compare two numbers of any length; `int` refuses very long ones."""
    first, second = one.lstrip("0"), two.lstrip("0")
    keys = ((len(first), first), (len(second), second))
    return (keys[0] > keys[1]) - (keys[0] < keys[1])


def _order(text: str) -> list[int]:
    """Return the sort position of a character: a tilde before the end, letters before everything else."""
    return [*(-1 if char == "~" else ord(char) if char.isalpha() else ord(char) + 256 for char in text), 0]

"""Check of regular expressions in data, which accepts only those that no input can make slow."""

from __future__ import annotations

import re
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

LONGEST_REPEAT = 400
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)


def pattern(text: str) -> str:
    r"""Check that a regular expression is bounded: no repeat inside a repeat, none longer than `LONGEST_REPEAT`.

    With both bounds, the time for a line is linear in its length.

    Raises:
        ValueError: It does not compile, or an input could make it slow.

    Example:
        >>> pattern(r"version (?P<version>[0-9.]{1,20})")
        'version (?P<version>[0-9.]{1,20})'
        >>> pattern(r"(a+)+$")
        Traceback (most recent call last):
        ValueError: has a repetition without an upper bound of at most 400
    """
    try:
        re.compile(text)
        parsed = _parser.parse(text)
    except re.error as error:
        raise ValueError(f"is not a regular expression: {error}") from None
    _check(parsed, inside=False)
    return text


def _check(parsed: Any, *, inside: bool) -> None:  # noqa: ANN401  the standard library's parser is untyped
    for operation, argument in parsed:
        if operation in _REPEATS:
            _, most, repeated = argument
            _refuse(most, inside=inside)
            _check(repeated, inside=inside or most > 1)
        else:
            for part in _parts(operation, argument):
                _check(part, inside=inside)


def _refuse(most: Any, *, inside: bool) -> None:  # noqa: ANN401
    if most == _constants.MAXREPEAT or most > LONGEST_REPEAT:
        raise ValueError(f"has a repetition without an upper bound of at most {LONGEST_REPEAT}")
    if inside and most > 1:
        raise ValueError("has nested repetitions")


def _parts(operation: Any, argument: Any) -> list[Any]:  # noqa: ANN401
    if operation is _constants.SUBPATTERN:
        return [argument[-1]]
    if operation is _constants.BRANCH:
        return list(argument[1])
    if operation in {_constants.ASSERT, _constants.ASSERT_NOT}:
        return [argument[1]]
    if operation is _constants.ATOMIC_GROUP:
        return [argument]
    if operation is _constants.GROUPREF_EXISTS:
        return [part for part in argument[1:] if part is not None]
    return []

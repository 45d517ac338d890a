"""Dotted release numbers outside PEP 440: CUDA, cuDNN, drivers, interpreters, glibc."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache, total_ordering

_RELEASE = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18}){0,15}")
"""Bounded, since Python refuses to convert numbers of thousands of digits."""


# Cached: a judgement compares the same few hundred numbers repeatedly, and is several times faster this way.
@lru_cache(maxsize=4096)
def _parts(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


@lru_cache(maxsize=4096)
def _significant(text: str) -> tuple[int, ...]:
    parts = _parts(text)
    end = len(parts)
    while end > 1 and parts[end - 1] == 0:
        end -= 1
    return parts[:end]


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A dotted number such as `11.0`, `8.0.4` or `450.80.02`.

    Compares by value, so `450.80.02 == 450.80.2` and `11 == 11.0`; prints as it was written.

    Raises:
        ValueError: The text is not a dotted number.

    Example:
        >>> Release("450.80.02") < Release("450.119.03")
        True
        >>> Release("8.0.4").head(2)
        (8, 0)
    """

    text: str

    def __post_init__(self) -> None:
        if not _RELEASE.fullmatch(self.text):
            raise ValueError(f"{self.text[:80]!r} is not a dotted release number")

    @property
    def parts(self) -> tuple[int, ...]:
        """All numbers, most significant first."""
        return _parts(self.text)

    @property
    def _key(self) -> tuple[int, ...]:
        return _significant(self.text)

    @property
    def major(self) -> int:
        """First number."""
        return self.parts[0]

    @property
    def series(self) -> str:
        """First two numbers as text.

        Example:
            >>> Release("3.8.20").series
            '3.8'
        """
        return "{}.{}".format(*self.head(2))

    def head(self, count: int) -> tuple[int, ...]:
        """Return the first `count` numbers, padded with zeros."""
        parts = self.parts
        return parts[:count] if len(parts) >= count else (*parts, *([0] * (count - len(parts))))

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Release) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self._key < other._key if isinstance(other, Release) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        return self.text


def release_of(text: str) -> Release | None:
    """Return the release in an untrusted text; None if it is not one, such as a number of a hundred digits.

    Example:
        >>> release_of("535.104.05"), release_of("9" * 100)
        (Release(text='535.104.05'), None)
    """
    return Release(text) if _RELEASE.fullmatch(text) else None

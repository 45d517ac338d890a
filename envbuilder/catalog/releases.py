"""Days on which the minor releases of TensorFlow were published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from envbuilder.core.versions import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRelease:
    """A minor release of TensorFlow.

    Attributes:
        published: Day of its first wheel on the package index.
    """

    release: Release
    published: date


def newest_release(releases: Sequence[PublishedRelease], day: date) -> Release | None:
    """Return the newest minor release of a day; the oldest one for an earlier day, and None if none is known.

    Example:
        >>> old = PublishedRelease(release=Release("1.15"), published=date(2019, 10, 16))
        >>> new = PublishedRelease(release=Release("2.0"), published=date(2019, 9, 30))
        >>> [str(newest_release((old, new), date(2019, month, 1))) for month in (9, 10, 11)]
        ['1.15', '2.0', '2.0']
    """
    there = [each.release for each in releases if each.published <= day]
    return max(there) if there else min((each.release for each in releases), default=None)

"""Selection of the file of a distribution that an image can install and that suits it best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from envbuilder.core.versions import Release

_OLDEST_GLIBC_MINOR = 5
_LEGACY_PLATFORMS = {17: "manylinux2014_x86_64", 12: "manylinux2010_x86_64", 5: "manylinux1_x86_64"}


def best(files: Iterable[str], python: Release, glibc: Release) -> str | None:
    """Return the wheel that an installer would choose on x86-64 Linux, by file name; None if none is suitable.

    Wheels are compared by their best tag, then build number, then name, so the result does not depend on their order.
    """
    rank = _ranks(python.head(2), glibc.head(2))
    fitting = [
        (position, build, file) for file in files for position, build in [_position(file, rank)] if position is not None
    ]
    return min(fitting)[2] if fitting else None


def _position(file: str, rank: dict[Tag, int]) -> tuple[int | None, tuple[int, str]]:
    try:
        _, _, build, tags = parse_wheel_filename(file)
    except InvalidWheelFilename:
        return None, (0, "")
    number, suffix = build or (0, "")
    return min((rank[tag] for tag in tags if tag in rank), default=None), (-number, suffix)


@cache
def _ranks(python: tuple[int, ...], glibc: tuple[int, ...]) -> dict[Tag, int]:
    """Return the position of every compatible tag, best first.

    Source: https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/; `packaging.tags` orders
    them for an interpreter other than the running one.
    """
    platforms = list(_platforms(glibc))
    version = tuple(python[:2])
    short = f"cp{version[0]}{version[1]}"
    abi = f"{short}m" if version < (3, 8) else short
    ordered = [*cpython_tags(version, [abi], platforms), *compatible_tags(version, short, platforms)]
    ranks: dict[Tag, int] = {}
    for place, tag in enumerate(ordered):
        ranks.setdefault(tag, place)
    return ranks


def _platforms(glibc: tuple[int, ...]) -> Iterator[str]:
    for minor in range(glibc[1], _OLDEST_GLIBC_MINOR - 1, -1):
        yield f"manylinux_2_{minor}_x86_64"
        if minor in _LEGACY_PLATFORMS:
            yield _LEGACY_PLATFORMS[minor]
    yield "linux_x86_64"

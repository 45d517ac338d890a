"""Reader of a wheel's metadata: its name, its METADATA and WHEEL files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from email.message import Message
from email.parser import HeaderParser

from envbuilder.core.corrupt_file import Damaged
from envbuilder.core.references import normalized

_AND_CUDA = "and-cuda"
_EXTRA = re.compile(r"""\bextra\s*==\s*['"]([^'"]+)['"]""")
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*\(?\s*([^();]*?)\s*\)?\s*(?:;.*)?")
_FILE = re.compile(r"[^-]+-[^-]+(?:-\d[^-]*)?-(?P<python>[^-]+-[^-]+)-(?P<platform>[^-]+)\.whl")


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelMetadata:
    """The content of METADATA and WHEEL.

    Attributes:
        package: Name, in normal form (`tensorflow-gpu`).
        tags: Tags in its WHEEL file, in file order.
        requires_python: As in the metadata; empty if it is not stated.
        extras: Names of its extras, in file order.
        requires: Its dependencies as written, in file order, without those of the extra `and-cuda`.
        and_cuda: Dependencies of the extra `and-cuda` as `name==version`, in file order.
    """

    package: str
    version: str
    tags: tuple[str, ...]
    requires_python: str
    extras: tuple[str, ...]
    requires: tuple[str, ...]
    and_cuda: tuple[str, ...]


def read_file_name(name: str) -> tuple[str, str]:
    """Return interpreter and ABI, and the platforms, in the file name of a wheel.

    Raises:
        Damaged: It is not the name of a wheel.

    Example:
        >>> read_file_name("tensorflow-2.21.0-cp313-cp313-manylinux_2_27_x86_64.whl")
        ('cp313-cp313', 'manylinux_2_27_x86_64')
    """
    match = _FILE.fullmatch(name)
    if match is None:
        raise Damaged("is not the file name of a wheel")
    return match["python"], match["platform"]


def read_metadata(metadata: str, wheel: str) -> WheelMetadata:
    """Read the contents of METADATA and WHEEL.

    Raises:
        Damaged: METADATA names no package or no version.
    """
    headers = HeaderParser().parsestr(metadata)
    name, version = _first(headers, "Name"), _first(headers, "Version")
    if not version:
        raise Damaged("names no version")
    try:
        package = normalized(name)
    except ValueError as error:
        raise Damaged(f"names no package: {error}") from error
    requires = _all(headers, "Requires-Dist")
    return WheelMetadata(
        package=package,
        version=version,
        tags=_all(HeaderParser().parsestr(wheel), "Tag"),
        requires_python=_first(headers, "Requires-Python"),
        extras=_all(headers, "Provides-Extra"),
        requires=tuple(text for text in requires if _AND_CUDA not in _EXTRA.findall(text)),
        and_cuda=tuple(_pins(text for text in requires if _AND_CUDA in _EXTRA.findall(text))),
    )


def _pins(requires: Iterable[str]) -> Iterable[str]:
    """Yield requirements without their markers, such as `nvidia-cudnn-cu12==8.9.4.25`."""
    for text in requires:
        match = _REQUIREMENT.fullmatch(text)
        yield f"{match[1]}{match[2]}".replace(" ", "") if match else text


def _all(message: Message, name: str) -> tuple[str, ...]:
    return tuple(str(value).strip() for value in message.get_all(name) or ())


def _first(message: Message, name: str) -> str:
    return next(iter(_all(message, name)), "")

"""Parser of the first lines of a PTX text: version of the language, and target GPU."""

from __future__ import annotations

import re
from dataclasses import dataclass

from envbuilder.core.versions import Release

_VERSION = re.compile(rb"^\s*\.version\s+(\d{1,3}\.\d{1,3})\s*$", re.MULTILINE)
_TARGET = re.compile(rb"^\s*\.target\s+(sm_\d{1,4}[a-z]?)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PtxHeader:
    """The header of a PTX text.

    Attributes:
        isa: Version of the language.
        target: Such as `sm_70` or `sm_90a`.
    """

    isa: Release
    target: str


def read_ptx_header(text: bytes) -> PtxHeader | None:
    r"""Read the directives at the beginning of a PTX text.

    Returns:
        None if they are missing.

    Source: https://docs.nvidia.com/cuda/parallel-thread-execution/, module directives: `.version` comes first, then
    `.target`.

    Example:
        >>> read_ptx_header(b"//\n.version 8.5\n.target sm_90a\n.address_size 64\n").target
        'sm_90a'
    """
    version, target = _VERSION.search(text), _TARGET.search(text)
    if version is None or target is None:
        return None
    return PtxHeader(isa=Release(version[1].decode()), target=target[1].decode())

"""The readers of a library's machine code, as parameters of `measure`: tests replace them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from elftools.elf.elffile import ELFFile

from envbuilder.catalog.cuda import CudnnRule
from envbuilder.curation.wheel_audit.code import avx_need, cudnn_reading, opened_sonames


class CudnnSeen(Protocol):
    """The cuDNN that a library was compiled against."""

    @property
    def compiled(self) -> str:
        """Dotted version; major and minor only if the patch level is not in the code."""

    @property
    def rule(self) -> CudnnRule:
        """The rule for accepted versions at run time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeReaders:
    """Readers of machine code; each returns nothing for a library without the property.

    Attributes:
        cudnn: The cuDNN that it was compiled against.
        opened: `(loader, soname)` that it opens at run time.
        avx: True if code that always runs uses AVX.
    """

    cudnn: Callable[[ELFFile], CudnnSeen | None] = cudnn_reading
    opened: Callable[[ELFFile], tuple[tuple[str, str], ...]] = opened_sonames
    avx: Callable[[ELFFile], bool | None] = avx_need

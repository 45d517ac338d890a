"""What reads the machine code of a library, as `measure` needs it: three functions that can be others in tests."""

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
        """Dotted; major and minor only where the patch level is not in the code."""

    @property
    def rule(self) -> CudnnRule:
        """What it accepts at run time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeReaders:
    """Readers of machine code; each says nothing about a library that does not tell.

    Attributes:
        cudnn: The cuDNN that it was compiled against.
        opened: `(loader, soname)` that it opens at run time.
        avx: Whether code that always runs uses AVX.
    """

    cudnn: Callable[[ELFFile], CudnnSeen | None] = cudnn_reading
    opened: Callable[[ELFFile], tuple[tuple[str, str], ...]] = opened_sonames
    avx: Callable[[ELFFile], bool | None] = avx_need

"""Detection of libraries that were compiled for processors with AVX, so that they do not run on others.

Kernels that are chosen at run time use AVX in every build. Code that was compiled without `-mavx` moves numbers with
SSE instructions only, code that was compiled with it with those of AVX only, whose names begin with `v`. So functions
of TensorFlow's own namespace are sampled, where next to nothing is chosen at run time, and both kinds counted. Both
occur where a library has kernels for GPUs: nvcc compiled what launches those without `-mavx`, and the rest needs AVX
all the same.

Source: samples of 200 instructions, wheels of 1.2.1 to 2.21.0, November 2026. Without AVX (up to 1.5.0) none is of AVX.
With it (from 1.5.1) all are in `libtensorflow_framework`, 71 to 97 % in `_pywrap_tensorflow_internal` of GPU wheels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from elftools.elf.elffile import ELFFile

from envbuilder.curation.wheel_audit.code.binary import Binary
from envbuilder.curation.wheel_audit.code.instructions import Instruction, instructions

_OWN = re.compile(r"_ZNK?10tensorflow(?!.*(?:5Eigen|6eigen|4dnnl))")
_SYMBOLS, _LONGEST = 20_000, 2048
_EACH, _ENOUGH, _PLENTY = 8, 40, 200
_MOST, _FEW = 0.5, 0.05


def avx_need(elf: ELFFile) -> bool | None:
    """Return True if code that always runs uses AVX.

    Returns:
        None if there is too little code of TensorFlow's own, or a little of it uses AVX.
    """
    return _judge(*_counted(elf))


def _judge(new: int, old: int) -> bool | None:
    if new + old < _ENOUGH:
        return None
    share = new / (new + old)
    if share >= _MOST:
        return True
    return False if share <= _FEW else None


def _counted(elf: ELFFile) -> tuple[int, int]:
    """Return the numbers of AVX and of other instructions in the sample."""
    binary = Binary(elf)
    names = [step.name for step in islice(_vector(binary), _PLENTY)]
    new = sum(name.startswith("v") for name in names)
    return new, len(names) - new


def _vector(binary: Binary) -> Iterator[Instruction]:
    """Yield instructions on vector registers in TensorFlow's own functions: the first few of each function."""
    for function in binary.sampled(_SYMBOLS):
        if _OWN.match(function.name):
            code = binary.code(function)[:_LONGEST]
            yield from islice((step for step in instructions(code, function.address) if step.vector), _EACH)

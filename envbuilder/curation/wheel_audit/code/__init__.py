"""Facts from the machine code of a TensorFlow wheel: cuDNN compiled in, libraries opened at run time, AVX.

Nothing is run or loaded, and nothing is guessed: what cannot be read is None, or left out. Each function takes
pyelftools' `ELFFile` on a seekable binary file of x86-64. What pyelftools raises for damaged tables (`ELFError`,
`ConstructError`, `ValueError` and the like) passes through; damaged machine code raises nothing.
"""

from envbuilder.curation.wheel_audit.code.avx import avx_need
from envbuilder.curation.wheel_audit.code.cudnn import CudnnReading, cudnn_reading
from envbuilder.curation.wheel_audit.code.sonames import opened_sonames

__all__ = ["CudnnReading", "avx_need", "cudnn_reading", "opened_sonames"]

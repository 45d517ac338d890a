"""Permitted differences between numbers of a GPU and the reference; the only place that defines them."""

from __future__ import annotations

from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.facts import Facts

# Largest difference as a share of the largest number of the reference.
# Source: a rounding is 2**-24 (6e-8) in float32 and 2**-11 (5e-4) in float16 and in TF32, which has its 10 bits of
# mantissa (IEEE 754; NVIDIA's A100 whitepaper). The operands are small whole numbers, exact in all three, so that what
# is left is the rounding of transforms (Winograd). What goes through sigmoids is not exact, but its rounding shrinks in
# them to below one of TF32. On the CPU an LSTM in float32 is within 3e-7 of numpy (rehearsal, 2026-11-21). No figure
# was measured on a GPU yet.
SINGLE = 1e-5
TENSOR_FLOAT = 1e-3
HALF = 1e-2
WITH_TENSOR_FLOAT = Release("8.0")

# For `gpu-matmul-on-gpu` and `gpu-convolution-on-gpu` against numpy, absolute: whole numbers, exact but for Winograd,
# whose rounding on numbers of this size is below 1e-4.
WHOLE_NUMBERS = 1e-3


def tolerance(facts: Facts, asked: str, *, tf32: bool | None) -> float:
    """Return the share by which float32 numbers of a GPU may differ.

    Args:
        facts: The driver's facts about TF32 support; a GPU without facts may have it.
        asked: Device, such as `/GPU:0`.
        tf32: Whether TensorFlow allows TF32; None where it has no switch, and no TF32 either.
    """
    capability = next((gpu.capability for gpu in facts.driver_gpus if f"/GPU:{gpu.index}" == asked), None)
    return TENSOR_FLOAT if tf32 and (capability is None or capability >= WITH_TENSOR_FLOAT) else SINGLE

"""The subject of each check: its heading in a report, and the step of the probe that it needs."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from envbuilder.diagnostics.checks.check import was_tried
from envbuilder.diagnostics.facts.facts import Facts, Seen, Unseen

OTHER = "Other"


# Heading by the first words of an id, in the order in which headings are usually read; the longest match is used.
_GROUPS = MappingProxyType(
    {
        "python": "Python and system",
        "glibc": "Python and system",
        "cpu": "Python and system",
        "distributions": "Python and system",
        "cuda": "CUDA libraries",
        "cudnn": "CUDA libraries",
        "cublas": "CUDA libraries",
        "no-cuda": "CUDA libraries",
        "tensorflow": "TensorFlow",
        "training": "TensorFlow",
        "save": "TensorFlow",
        "driver": "Driver",
        "nvml": "Driver",
        "gpu": "GPU",
        "gpu-memory": "GPU memory",
        "memory": "GPU memory",
    }
)

# The one check that a step of the probe is for: others that use the same fact cost no more time.
_STEPS: MappingProxyType[str, Callable[[Facts], Seen[Any] | Unseen]] = MappingProxyType(
    {
        "python-version": lambda facts: facts.interpreter,
        "cpu-avx": lambda facts: facts.machine,
        "distributions-present": lambda facts: facts.distributions,
        "cuda-libraries-load": lambda facts: facts.libraries,
        "no-cuda-stub": lambda facts: facts.libcuda,
        "tensorflow-imports": lambda facts: facts.imported,
        "tensorflow-built-with-cuda": lambda facts: facts.build,
        "tensorflow-cuda-libraries": lambda facts: facts.own_check,
        "training-loss-falls": lambda facts: facts.training,
        "save-load-equal": lambda facts: facts.saving,
        "driver-present": lambda facts: facts.driver,
        "gpu-visible-to-tensorflow": lambda facts: facts.devices,
        "gpu-matmul-on-gpu": lambda facts: facts.gpu,
    }
)


def group_of(check_id: str) -> str:
    """Return the heading of a check; `Other` if no line here has its first words.

    Example:
        >>> group_of("gpu-matmul-on-gpu"), group_of("gpu-memory-free"), group_of("gpus-dance")
        ('GPU', 'GPU memory', 'Other')
    """
    words = check_id.split("-")
    starts = ("-".join(words[:count]) for count in range(len(words), 0, -1))
    return next((_GROUPS[start] for start in starts if start in _GROUPS), OTHER)


def seconds_of(check_id: str, facts: Facts) -> float | None:
    """Return the duration of the probe's step for a check; None if it was not run or is for several checks."""
    if check_id not in _STEPS:
        return None
    fact = _STEPS[check_id](facts)
    return None if isinstance(fact, Unseen) and not was_tried(fact) else fact.seconds

"""What each check is about: the heading that it stands under, and the step of the probe that it waits for."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Protocol

from envbuilder.diagnostics.checks.check import was_tried
from envbuilder.diagnostics.facts.facts import Facts, Unseen

OTHER = "Other"


class Timed(Protocol):
    """A fact of any kind, as far as its time goes."""

    @property
    def seconds(self) -> float:
        """How long looking took."""
        ...


# Heading by the first words of an id, in the order in which headings are usually read; the longest match counts.
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

# The one check for whose sake the probe takes a step: the others that look at the same fact cost nothing more.
_STEPS: MappingProxyType[str, Callable[[Facts], Timed]] = MappingProxyType(
    {
        "python-version": lambda facts: facts.interpreter,
        "cpu-avx": lambda facts: facts.machine,
        "distributions-present": lambda facts: facts.distributions,
        "cuda-libraries-load": lambda facts: facts.libraries,
        "no-cuda-stub": lambda facts: facts.loader,
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
    """The heading of a check; `Other` when no line here knows its first words.

    Example:
        >>> group_of("gpu-matmul-on-gpu"), group_of("gpu-memory-free"), group_of("gpus-dance")
        ('GPU', 'GPU memory', 'Other')
    """
    words = check_id.split("-")
    starts = ("-".join(words[:count]) for count in range(len(words), 0, -1))
    return next((_GROUPS[start] for start in starts if start in _GROUPS), OTHER)


def seconds_of(check_id: str, facts: Facts) -> float | None:
    """How long the probe took for the sake of a check; None when it did not try, or no step is for this check alone."""
    if check_id not in _STEPS:
        return None
    fact = _STEPS[check_id](facts)
    return None if isinstance(fact, Unseen) and not was_tried(fact) else fact.seconds

"""Distributions of TensorFlow, all of which install the package `tensorflow`; an image contains one."""

from __future__ import annotations

from collections.abc import Iterable

SAME_BUILDS = frozenset({"tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-intel"})
"""Distribution names of one release: for CPU, for GPU, or for both.

Source: the files of these projects on PyPI (2026-11): `tensorflow-gpu` ends with 2.11.0, `tensorflow-intel` holds the
Windows wheels of 2.10 to 2.18.
"""

OTHER_BUILDS = frozenset(
    {
        "intel-tensorflow",
        "intel-tensorflow-avx512",
        "tensorflow-aarch64",
        "tensorflow-cpu-aws",
        "tensorflow-macos",
        "tensorflow-rocm",
        "tensorflow-rocm-enhanced",
        "tf-nightly",
        "tf-nightly-cpu",
        "tf-nightly-gpu",
        "tf-nightly-intel",
    }
)
"""Third-party builds, builds for other hardware, and nightly builds; they install the same files."""

DISTRIBUTIONS = SAME_BUILDS | OTHER_BUILDS
"""All distributions that install the package `tensorflow`, by normalized name."""


def tensorflows(names: Iterable[str]) -> tuple[str, ...]:
    """Return the distributions of TensorFlow among some normalized names, in their order.

    Example:
        >>> tensorflows(["numpy", "tensorflow-cpu", "tensorflow-text", "tensorflow"])
        ('tensorflow-cpu', 'tensorflow')
    """
    return tuple(name for name in names if name in DISTRIBUTIONS)

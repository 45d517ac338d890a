"""The distributions of TensorFlow on the package index. All install the package `tensorflow`: an image holds one."""

from __future__ import annotations

from collections.abc import Iterable

SAME_BUILDS = frozenset({"tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-intel"})
"""Names under which one release is published: for CPU, for GPU, or for both.

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
"""Builds by others, for other hardware, or of the development branch. They install the same files."""

DISTRIBUTIONS = SAME_BUILDS | OTHER_BUILDS
"""Every distribution that installs the package `tensorflow`, by normalized name."""


def tensorflows(names: Iterable[str]) -> tuple[str, ...]:
    """Return the distributions of TensorFlow among some normalized names, in their order.

    Example:
        >>> tensorflows(["numpy", "tensorflow-cpu", "tensorflow-text", "tensorflow"])
        ('tensorflow-cpu', 'tensorflow')
    """
    return tuple(name for name in names if name in DISTRIBUTIONS)

"""Builds of TensorFlow that are no rows of the catalog."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.catalog.sources import Source
from envbuilder.core.versions import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorBuild:
    """A build of TensorFlow that no row has: NVIDIA's own containers.

    Attributes:
        name: What NVIDIA calls it, such as `25.02-tf2-py3`.
        tensorflow: Release of TensorFlow in it.
        python: Interpreter in it.
        oldest: Oldest compute capability that it is known to be made for.
        newest: Newest, likewise.
        what: What it is, in a sentence.
        sources: Where this is known from.
    """

    name: str
    tensorflow: Release
    python: Release
    oldest: Release
    newest: Release
    what: str
    sources: tuple[Source, ...]

"""Builds of TensorFlow outside the catalog."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.catalog.sources import SourceList
from envbuilder.core.versions import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorBuild:
    """A container of NVIDIA with a build of TensorFlow that no row has.

    Attributes:
        name: NVIDIA's name, such as `25.02-tf2-py3`.
        tensorflow: Release of TensorFlow in it.
        python: Interpreter in it.
        oldest: Oldest compute capability that it is documented for.
        newest: Newest, likewise.
        what: Description, in a sentence.
        sources: Where this is documented.
    """

    name: str
    tensorflow: Release
    python: Release
    oldest: Release
    newest: Release
    what: str
    sources: SourceList

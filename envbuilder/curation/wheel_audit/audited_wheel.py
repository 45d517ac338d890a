"""The measurement of a wheel, in the forms that the catalog and the reader need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from packaging.version import Version

from envbuilder.catalog.claims import ClaimComparison, Claims, CudaClaims
from envbuilder.core.versions import Release
from envbuilder.curation.wheel_audit.document import record
from envbuilder.curation.wheel_audit.measurement import Measurement

_NONE = Release("0")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredWheel:
    """The properties of one wheel.

    Attributes:
        package: Distribution name, normalized.
        claims: Claims of a row about it.
        cuda_pins: Requirements of its `and-cuda` extra; empty when it has none.
        record: Everything, as JSON values; field names are those of the facts that this project started from.
    """

    package: str
    version: Version
    file: str
    sha256: str
    claims: Claims
    cuda_pins: tuple[str, ...]
    record: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """A wheel with the row that is about it.

    Attributes:
        row: Id of the row; empty if no row is about this release.
        listed_under: Release of TensorFlow that the row was measured on, when it lists that of the wheel as another
            release only; None when the row is about exactly this release.
        comparisons: Every field of the row with its measurement; empty without a row.
    """

    wheel: MeasuredWheel
    row: str
    comparisons: tuple[ClaimComparison, ...]
    listed_under: Version | None = None

    @property
    def agrees(self) -> bool:
        """True if no measured field differs from the row."""
        return all(comparison.agrees for comparison in self.comparisons)


def measured_wheel(measurement: Measurement) -> MeasuredWheel:
    """Return the properties of a wheel that the catalog and the reader need."""
    return MeasuredWheel(
        package=measurement.metadata.package,
        version=Version(measurement.metadata.version),
        file=measurement.file,
        sha256=measurement.sha256,
        claims=_claims(measurement),
        cuda_pins=measurement.metadata.and_cuda,
        record=record(measurement),
    )


def _claims(measurement: Measurement) -> Claims:
    """Return the claims of a row about the wheel."""
    return Claims(
        glibc=measurement.glibc or _NONE,
        glibcxx=measurement.glibcxx or _NONE,
        needs_avx=measurement.needs_avx,
        cuda=_cuda(measurement) if measurement.linkage else None,
    )


def _cuda(measurement: Measurement) -> CudaClaims:
    return CudaClaims(
        compiled=measurement.compiled,
        linkage=measurement.linkage,
        sonames=measurement.sonames,
        cudnn=measurement.cudnn,
        families=measurement.families,
    )

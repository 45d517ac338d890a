"""Conversion of a measurement to the claims of a row."""

from __future__ import annotations

from packaging.version import Version

from envbuilder.catalog.claims import Claims, CudaClaims
from envbuilder.core.versions import Release
from envbuilder.curation.wheel_audit.audited_wheel import MeasuredWheel
from envbuilder.curation.wheel_audit.document import record
from envbuilder.curation.wheel_audit.measurement import Measurement

_NONE = Release("0")


def measured_wheel(measurement: Measurement) -> MeasuredWheel:
    """Return the properties of a wheel that the catalog and the reader need."""
    return MeasuredWheel(
        package=measurement.package,
        version=Version(measurement.version),
        file=measurement.file,
        sha256=measurement.sha256,
        claims=_claims(measurement),
        cuda_pins=measurement.and_cuda,
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

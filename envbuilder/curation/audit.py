"""Audit of wheels: measurement, comparison with the row, and update of the row."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Protocol

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from envbuilder.catalog.claims import claims_of, compare
from envbuilder.catalog.environments import Catalog, Environment, FrameworkWheel, OtherRelease
from envbuilder.catalog.evidence import Measured
from envbuilder.catalog.load.environments import Proof, dump_proof
from envbuilder.core.errors import ResolutionFailed, UsageError
from envbuilder.core.references import normalized
from envbuilder.core.versions import Release
from envbuilder.curation.environment_files import document_text, read_document, with_library_set, with_measured
from envbuilder.curation.new_environment import NewRelease, library_set, model_for, new_environment
from envbuilder.curation.proof.catalog_files import CatalogFiles
from envbuilder.curation.wheel_audit.audited_wheel import Audit, MeasuredWheel
from envbuilder.lock.index.index import IndexFile
from envbuilder.lock.resolve.wheel_files import best

_NEWEST_GLIBC = Release("2.40")
"""Wheels for any supported Linux are accepted, because nothing in them is run."""


class MeasuredWheels(Protocol):
    """Wheels of the package index and of this host, measured one at a time; downloads are removed afterwards."""

    def files(self, package: str, version: str) -> tuple[IndexFile, ...]:
        """Return the files of a release; errors as in `Index.files`."""
        ...

    def of_index(self, file: IndexFile) -> MeasuredWheel:
        """Download and measure a wheel.

        Raises:
            SourceUnreachable: The index does not answer.
            VerificationFailed: The file does not match its hash.
        """
        ...

    def of_host(self, path: Path) -> MeasuredWheel:
        """Measure a wheel where it is."""
        ...


def audit_row(catalog: Catalog, row: Environment, wheels: MeasuredWheels, *, python: Release | None = None) -> Audit:
    """Measure the wheel of a row: the one for its default interpreter, or for another one.

    Wheels of one release can differ: those of 1.13 and 1.14 for Python 3.6 and 3.7 were built on different systems.

    Raises:
        ResolutionFailed: The index has no such wheel.
        SourceUnreachable: The index does not answer.
        VerificationFailed: The file does not match its hash.
    """
    wheel = row.framework
    files = wheels.files(wheel.package, str(wheel.version))
    chosen = _best(files, python or row.default_python, f"{wheel.package}=={wheel.version}")
    return compared(catalog, wheels.of_index(chosen))


def audit_release(
    catalog: Catalog, package: str, version: Version, wheels: MeasuredWheels, *, python: Release | None
) -> Audit:
    """Measure any wheel of the index; that for the newest interpreter if none is named.

    Raises:
        ResolutionFailed: The index has no such wheel.
        SourceUnreachable: The index does not answer.
        VerificationFailed: The file does not match its hash.
    """
    files = wheels.files(package, str(version))
    wanted = python or max(pythons_of(files), default=None)
    if wanted is None:
        raise ResolutionFailed(
            f"the index has no wheel of {package} {version} for Linux on x86-64 and Python 3.6 or later",
            hint="check the version: the GPU package of TensorFlow is tensorflow-gpu up to 2.11.0",
        )
    return compared(catalog, wheels.of_index(_best(files, wanted, f"{package}=={version}")))


def compared(catalog: Catalog, wheel: MeasuredWheel) -> Audit:
    """Compare a wheel with the row that is about its release, or lists it; without comparisons if there is none."""
    row = _row_of(catalog, wheel)
    comparisons = compare(claims_of(row), wheel.claims) if row else ()
    is_other = row is not None and row.framework.version != wheel.version
    return Audit(
        wheel=wheel,
        row=row.id if row else "",
        comparisons=comparisons,
        listed_under=row.framework.version if row and is_other else None,
    )


def record_audit(catalog: Catalog, audit: Audit, wheels: MeasuredWheels, records: CatalogFiles, today: date) -> str:
    """Write the measurement into the row of this release, or make a new row for it.

    Returns:
        Id of the row.

    Raises:
        UsageError: There is a row of this minor release with another patch release.
    """
    row = catalog.environment(audit.row)
    if row is None or audit.listed_under:
        return _record_new(catalog, audit.wheel, wheels, records, today)
    wheel = audit.wheel
    if audit.agrees and row.framework.measured == wheel.sha256:
        # The measurement is unchanged, so the date stays.
        return row.id
    comments, document = read_document(records.environment_path(row.id))
    text = document_text(
        comments, with_measured(document, wheel.claims, sha256=wheel.sha256, source=_source(wheel, today))
    )
    records.write(records.environment_path(row.id), text)
    records.write_evidence(row.id, dump_proof(row.id, _with_evidence(row, wheel, today)))
    return row.id


def pythons_of(files: tuple[IndexFile, ...]) -> tuple[Release, ...]:
    """Return the interpreters for which there is a wheel for Linux on x86-64, oldest first."""
    found: set[Release] = set()
    for file in files:
        try:
            tags = parse_wheel_filename(file.file)[3]
        except InvalidWheelFilename:
            continue
        found |= {
            Release(f"3.{tag.interpreter[3:]}")
            for tag in tags
            if tag.interpreter.startswith("cp3") and tag.platform.endswith("x86_64") and "linux" in tag.platform
        }
    return tuple(sorted(found))


def _record_new(
    catalog: Catalog, wheel: MeasuredWheel, wheels: MeasuredWheels, records: CatalogFiles, today: date
) -> str:
    release = NewRelease(
        package=wheel.package,
        version=wheel.version,
        pythons=pythons_of(wheels.files(wheel.package, str(wheel.version))),
        claims=wheel.claims,
        cuda_pins=wheel.cuda_pins,
        sha256=wheel.sha256,
        source=_source(wheel, today),
        today=today,
    )
    there = catalog.environment(release.id)
    if there is not None:
        raise UsageError(
            f"{there.id} is for {there.framework.package} {there.framework.version}, not {wheel.version}",
            hint=f"change `tensorflow.version` in {records.environment_path(there.id)} first, then audit again",
        )
    model = model_for(catalog, release)
    entry = library_set(catalog, release)
    if entry is not None:
        records.write(records.libraries_path, with_library_set(records.libraries_path, entry))
    comments, document = read_document(records.environment_path(model.id))
    made = new_environment(model, document, release, entry.id if entry else "")
    records.write(records.environment_path(release.id), document_text(comments, made))
    records.write_evidence(release.id, dump_proof(release.id, Proof(evidence=(_measured(wheel, today),))))
    return release.id


def _best(files: tuple[IndexFile, ...], python: Release, what: str) -> IndexFile:
    found = best((file.file for file in files), python, _NEWEST_GLIBC)
    if found is None:
        known = ", ".join(map(str, pythons_of(files))) or "none"
        raise ResolutionFailed(
            f"the index has no wheel of {what} for Python {python}", hint=f"it has wheels for Python {known}"
        )
    return next(file for file in files if file.file == found)


def _row_of(catalog: Catalog, wheel: MeasuredWheel) -> Environment | None:
    """Return the row of exactly this release, else one that lists it; of the same kind if a name is used for both."""
    release = (wheel.package, wheel.version)
    rows = [row for row in catalog.environments if release == _release(row.framework)] or [
        row for row in catalog.environments if release in map(_release, row.framework.others)
    ]
    same = [row for row in rows if (row.cuda is None) == (wheel.claims.cuda is None)]
    return next(iter((*same, *rows)), None)


def _release(wheel: FrameworkWheel | OtherRelease) -> tuple[str, Version]:
    return normalized(wheel.package), wheel.version


def _with_evidence(row: Environment, wheel: MeasuredWheel, today: date) -> Proof:
    others = [entry for entry in row.evidence if not isinstance(entry, Measured)]
    return Proof(evidence=(*others, _measured(wheel, today)), unproven=row.unproven)


def _measured(wheel: MeasuredWheel, today: date) -> Measured:
    return Measured(file=wheel.file, sha256=wheel.sha256, when=today)


def _source(wheel: MeasuredWheel, today: date) -> str:
    return f"read from the wheel {wheel.file} by envbuilder catalog audit, {today}"

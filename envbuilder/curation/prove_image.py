"""Proof of a row in its image: lock, build, validate, and remove the image."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import date
from typing import Protocol

from envbuilder.catalog.environments import Environment
from envbuilder.catalog.evidence import BuiltWithStandIns, Evidence, Grade, ProvenImage, RanOnGpu
from envbuilder.core.errors import ToolFailed
from envbuilder.curation.proof.catalog_files import CatalogFiles
from envbuilder.curation.stand_ins.replacement import Replaced
from envbuilder.diagnostics.checks.results import NotProven, Report, Tier
from envbuilder.diagnostics.checks.stand_ins import CHECKS
from envbuilder.diagnostics.report.document import json_report
from envbuilder.diagnostics.validate import Validation
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest
from envbuilder.lock.resolve.requests import row_request
from envbuilder.lock.resolve.shipped_closures import ShippedClosures
from envbuilder.lock.spec import Spec

TAG = "envbuilder/proving-{row}:latest"


class ProofEngine(Protocol):
    """Locks, builds and validates images."""

    def lock(self, spec: Spec) -> Lock:
        """Return a new lock of a spec."""
        ...

    def built(self, made: Lock, tag: str) -> AbstractContextManager[None]:
        """Build a lock under a tag; remove the tag, and the image with it, when the block ends."""
        ...

    def validate(self, wanted: Validation, made: Lock) -> Report:
        """Validate an image against its lock."""
        ...


class LibraryReplacement(Protocol):
    """Replaces libraries that cannot be fetched, for the grade `image-with-stand-ins`."""

    def __call__(self, row: Environment, made: Lock, /) -> Replaced:
        """Return the lock with stand-ins; the same lock if every library can be fetched."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageProof:
    """Builds and validates images of rows."""

    shipped: ShippedClosures
    engine: ProofEngine
    stand_ins: LibraryReplacement
    records: CatalogFiles
    today: date

    def __call__(self, row: Environment, tier: Grade) -> tuple[Evidence, Report]:
        """See `ImageProver`."""
        made = self.engine.lock(Spec(environment=row.id))
        choice = next(choice for choice in row.bases if choice.system.id == made.base.id)
        closure = self.shipped.find(row.id, row_request(row, choice))
        if closure is None:
            raise ToolFailed(
                f"{row.id} has no bundled lock for {made.base.id}", hint="`envbuilder catalog prove --tier resolved`"
            )
        used = self.stand_ins(row, made) if tier is Grade.IMAGE_WITH_STAND_INS else Replaced(lock=made)
        report = self._validated(row, tier, used)
        proven = Grade.IMAGE if tier is Grade.IMAGE_WITH_STAND_INS and not used.sonames else tier
        # Two runs of the same image differ only in their duration, which is irrelevant here.
        kept = replace(report, subject=f"image of {digest(made)}")
        name = f"{proven.value}-{made.base.id}"
        path = self.records.write_report(row.id, name, json_report(kept)) if report.passed else ""
        common = {"base": made.base.id, "closure": closure.digest, "lock": digest(made)}
        return _evidence(proven, dict(report.facts), common, path, self.today, used.sonames), report

    def _validated(self, row: Environment, tier: Grade, used: Replaced) -> Report:
        """Build the image, validate it, and remove it."""
        tag = TAG.format(row=row.id)
        wanted = Tier.GPU if tier is Grade.GPU else Tier.CPU
        required = None if used.sonames else wanted
        validation = Validation(image=tag, tier=wanted, required=required, files=used.files)
        with self.engine.built(used.lock, tag):
            report = self.engine.validate(validation, used.lock)
        return report if _only_libraries_open(report) else replace(report, required=wanted)


def _only_libraries_open(report: Report) -> bool:
    """Return True if nothing is unproven but the libraries that stand-ins replace."""
    return {each.id for each in report.results if isinstance(each.outcome, NotProven)} <= CHECKS


def _evidence(  # noqa: PLR0913  each is a part of one entry
    proven: Grade,
    facts: Mapping[str, str],
    common: Mapping[str, str],
    report: str,
    today: date,
    stand_ins: tuple[str, ...],
) -> Evidence:
    """Return the evidence of a run; `common` are the fields that all kinds have."""
    if proven is Grade.GPU:
        gpu, driver = (facts.get(name, "").partition(",")[0] for name in ("GPU 0", "driver"))
        return RanOnGpu(**common, gpu=gpu, driver=driver, report=report, when=today)
    python = facts.get("Python", "").partition(" ")[0]
    if proven is Grade.IMAGE:
        return ProvenImage(**common, python=python, report=report, when=today)
    return BuiltWithStandIns(**common, python=python, stand_ins=stand_ins, report=report, when=today)

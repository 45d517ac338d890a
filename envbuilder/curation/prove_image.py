"""Proof of a row in its image: lock, build, validate, and remove the image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date

from envbuilder.catalog.environments import Environment
from envbuilder.catalog.evidence import BuiltImage, Evidence, Grade, RanOnGpu
from envbuilder.core.errors import ToolFailed
from envbuilder.diagnostics.checks.results import Report, Tier
from envbuilder.diagnostics.validate import Validation
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest
from envbuilder.lock.resolve.requests import row_request
from envbuilder.lock.resolve.shipped_closures import ShippedClosures
from envbuilder.lock.spec_values import Spec

TAG = "envbuilder/proving-{row}:latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageProof:
    """Builds and validates images of rows.

    Attributes:
        shipped: The closures that rows ship with.
        lock: Makes the lock of a spec.
        build: Builds a lock under a tag.
        validate: Validates an image against its lock.
        remove: Removes the tag, and the image with it.
        keep: Stores a report under a name; returns its path.
        today: The day.
    """

    shipped: ShippedClosures
    lock: Callable[[Spec], Lock]
    build: Callable[[Lock, str], None]
    validate: Callable[[Validation, Lock], Report]
    remove: Callable[[str], None]
    keep: Callable[[Environment, str, Report], str]
    today: date

    def __call__(self, row: Environment, tier: Grade) -> tuple[Evidence, Report]:
        """See `ImageProver`."""
        made = self.lock(Spec(environment=row.id))
        choice = next(choice for choice in row.bases if choice.system.id == made.base.id)
        closure = self.shipped.find(row.id, row_request(row, choice))
        if closure is None:
            raise ToolFailed(
                f"{row.id} has no bundled lock for {made.base.id}", hint="`envbuilder catalog prove --tier resolved`"
            )
        tag = TAG.format(row=row.id)
        self.build(made, tag)
        try:
            wanted = Tier.GPU if tier is Grade.GPU else Tier.CPU
            report = self.validate(Validation(image=tag, tier=wanted, required=wanted), made)
        finally:
            self.remove(tag)
        # Two runs of the same image differ only in their duration, which is irrelevant here.
        kept = replace(report, subject=f"image of {digest(made)}")
        path = self.keep(row, f"{tier.value}-{made.base.id}", kept) if report.passed else ""
        facts = dict(report.facts)
        common = {"base": made.base.id, "closure": closure.digest, "lock": digest(made)}
        if tier is Grade.GPU:
            gpu = facts.get("GPU 0", "").partition(",")[0]
            driver = facts.get("driver", "").partition(",")[0]
            return RanOnGpu(**common, gpu=gpu, driver=driver, when=self.today, report=path), report
        python = facts.get("Python", "").partition(" ")[0]
        return BuiltImage(**common, python=python, when=self.today, report=path), report

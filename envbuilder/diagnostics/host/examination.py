"""The result of examining a machine."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.catalog.offers import Offer
from envbuilder.diagnostics.findings import Finding, Severity
from envbuilder.diagnostics.host.installed_versions import Versions
from envbuilder.diagnostics.host.missing_facts import MissingFact


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """The data of a report of `doctor`.

    Attributes:
        findings: Worst first; within a severity in the order of the table.
        unseen: Missing facts.
        environments: Each environment on its best base, in the order of the catalog.
        versions: Installed versions for the interpreter of the probe; None if the facts have none.
    """

    findings: tuple[Finding, ...]
    unseen: tuple[MissingFact, ...]
    environments: tuple[Offer, ...]
    versions: Versions | None = None

    @property
    def has_problems(self) -> bool:
        """True if something does not work."""
        return any(finding.severity is Severity.PROBLEM for finding in self.findings)

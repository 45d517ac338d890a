"""The result of looking at a machine."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.catalog.offers import Offer
from envbuilder.diagnostics.findings import Finding, Severity
from envbuilder.diagnostics.host.installed_versions import Versions
from envbuilder.diagnostics.host.missing_facts import MissingFact


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """Everything that `doctor` reports.

    Attributes:
        findings: Worst first; within a severity in the order of the table.
        unseen: What could not be seen.
        environments: Each environment on its best base, in the order of the catalog.
        versions: What is installed for the interpreter that looked; None where the facts do not tell.
    """

    findings: tuple[Finding, ...]
    unseen: tuple[MissingFact, ...]
    environments: tuple[Offer, ...]
    versions: Versions | None = None

    @property
    def has_problems(self) -> bool:
        """Whether something does not work."""
        return any(finding.severity is Severity.PROBLEM for finding in self.findings)

"""Writes `docs/gpus.md` from the matrices: `python -m tests.repo.gpu_page`."""

from __future__ import annotations

from envbuilder.diagnostics.report.coverage_page import coverage_page
from tests.fakes.catalogs import ROOT, real_catalog

PAGE = ROOT / "docs" / "gpus.md"

if __name__ == "__main__":
    PAGE.write_text(coverage_page(real_catalog()), encoding="utf-8")

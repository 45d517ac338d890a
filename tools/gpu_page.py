"""Write `docs/gpus.md` from the matrices: `python -m tools.gpu_page`."""

from __future__ import annotations

from pathlib import Path

from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.diagnostics.report.coverage_page import coverage_page

_ROOT = Path(__file__).parents[1]
PAGE = _ROOT / "docs" / "gpus.md"

if __name__ == "__main__":
    PAGE.write_text(coverage_page(load_catalog(_ROOT / "matrices")), encoding="utf-8")

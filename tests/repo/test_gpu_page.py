"""The page of GPUs is the one that the matrices give."""

from __future__ import annotations

from tests.fakes.catalogs import real_catalog
from tools.gpu_page import PAGE, coverage_page


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == coverage_page(real_catalog()), "run `make matrices`"

"""Reports look as they were reviewed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.golden.reported import report_files


@pytest.mark.parametrize("path", report_files())
def test_a_report_looks_as_it_was_reviewed(path: str, golden: Callable[[str, str], None]) -> None:
    golden(path, report_files()[path]())

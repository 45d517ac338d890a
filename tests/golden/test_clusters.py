"""Job files of clusters are as reviewed."""

from __future__ import annotations

from collections.abc import Callable

from tests.golden.clusters import cluster_files


def test_job_files_are_as_reviewed(golden: Callable[[str, str], None]) -> None:
    for path, text in cluster_files():
        golden(path, text)

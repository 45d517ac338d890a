"""No golden file is left behind by something that is gone."""

from __future__ import annotations

from tests.conftest import GOLDEN
from tests.fakes.catalogs import real_row
from tests.golden.clusters import cluster_files
from tests.golden.commands import commands
from tests.golden.products import SHOWN, image_files, images, shared_files, spec_file
from tests.golden.reported import report_files


def expected() -> set[str]:
    files = {path for folder in images() for path, _ in image_files(folder)}
    files |= {path for path, _ in shared_files()}
    files |= {spec_file(row)[0] for row in map(real_row, SHOWN)}
    files |= {path for path, _ in cluster_files()}
    return files | set(commands()) | set(report_files())


def test_every_golden_file_belongs_to_a_test(update_golden: bool) -> None:
    there = {str(path.relative_to(GOLDEN)) for path in GOLDEN.glob("*/**/*") if path.is_file()}
    orphans = {path for path in there - expected() if "__pycache__" not in path}
    if update_golden:
        for path in orphans:
            (GOLDEN / path).unlink()
        return
    assert not orphans, "remove them with --update-golden"

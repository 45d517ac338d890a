"""What is sent to workers, what is accepted from them, and when a result is that of the same call."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from envbuilder.cluster.execution.local_processes import LocalExecutor
from envbuilder.cluster.execution.packed_files import read_files, unpack_files
from envbuilder.cluster.execution.targets import LocalProcesses
from envbuilder.core.errors import UsageError, VerificationFailed
from envbuilder.curation.proof.catalog_files import CatalogFiles
from envbuilder.wiring.execution import catalog_for, executor_of, record_files, result_key, work_item
from envbuilder.wiring.settings import Settings
from tests.fakes.catalogs import DATA
from tests.fakes.executors import done

ROW = "tf-2.15-cpu"
EVIDENCE = f"evidence/{ROW}.yaml"
REPORT = f"evidence/reports/{ROW}/cpu-3.11.json"


@pytest.fixture
def records(tmp_path: Path) -> CatalogFiles:
    folder = shutil.copytree(DATA / "catalog", tmp_path / "matrices")
    for row in (ROW, "tf-2.16-cpu"):
        for file in (folder / "locks" / f"{row}.yaml", folder / "evidence" / "reports" / row / "cpu-3.11.json"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("of a row\n", encoding="utf-8")
    return CatalogFiles(matrices=folder)


@pytest.fixture
def here(records: CatalogFiles, tmp_path: Path) -> Settings:
    return Settings(matrices=records.matrices, templates=tmp_path, cache_path=tmp_path / "cache", environ={})


def test_the_catalog_of_a_row_has_locks_and_reports_of_that_row_only(records: CatalogFiles) -> None:
    sent = catalog_for(records.matrices, ROW)
    every = read_files(records.matrices)
    left_out = {"locks/tf-2.16-cpu.yaml", "evidence/reports/tf-2.16-cpu/cpu-3.11.json"}
    assert set(every) - set(sent) == left_out
    assert unpack_files(work_item(ROW, ("list",), sent).catalog) == sent


def test_changes_of_the_row_are_written_to_the_catalog(records: CatalogFiles) -> None:
    sent = catalog_for(records.matrices, ROW)
    record_files(records, ROW, sent, done(ROW, files={EVIDENCE: "new\n", REPORT: None}))
    assert (records.matrices / EVIDENCE).read_text(encoding="utf-8") == "new\n"
    assert not (records.matrices / REPORT).exists()


@pytest.mark.parametrize(
    "path",
    [
        "cuda.yaml",
        "evidence/tf-2.16-cpu.yaml",
        "../outside.yaml",
        f"evidence/reports/{ROW}/../../x.json",
        f"evidence/reports/{ROW}/.hidden",
        "/etc/passwd",
    ],
)
def test_other_files_are_refused_and_nothing_is_written(records: CatalogFiles, path: str) -> None:
    before = read_files(records.matrices)
    with pytest.raises(VerificationFailed, match="not those of"):
        record_files(records, ROW, before, done(ROW, files={EVIDENCE: "new\n", path: "x"}))
    assert read_files(records.matrices) == before


def test_what_was_changed_here_meanwhile_is_not_overwritten(records: CatalogFiles) -> None:
    sent = catalog_for(records.matrices, ROW)
    records.write(EVIDENCE, "by another call\n")
    with pytest.raises(UsageError, match=r"evidence/tf-2\.15-cpu\.yaml was changed here while"):
        record_files(records, ROW, sent, done(ROW, files={EVIDENCE: "new\n"}))


def test_a_result_belongs_to_command_row_tables_and_lock(here: Settings, tmp_path: Path) -> None:
    item = work_item(ROW, ("build", "--json", "--", ROW))
    key = result_key(here, item)
    (here.matrices / "environments" / "tf-2.16-cpu.yaml").write_text("another row\n", encoding="utf-8")
    assert result_key(here, item) == key
    assert result_key(here, work_item(ROW, ("build", "--push", "--json", "--", ROW))) != key
    for name in ("cuda.yaml", f"environments/{ROW}.yaml", f"locks/{ROW}.yaml"):
        (here.matrices / name).write_text("changed\n", encoding="utf-8")
        assert result_key(here, item) != key
        key = result_key(here, item)
    lock = tmp_path / "some.lock"
    keys = set()
    for text in ("one", "two"):
        lock.write_text(text, encoding="utf-8")
        keys.add(result_key(here, work_item(str(lock), ("build", "--json", "--", str(lock)))))
    assert len(keys) == 2
    item = work_item("image", ("validate", f"--lock={lock}", "--", "image"))
    key = result_key(here, item)
    lock.write_text("three", encoding="utf-8")
    assert result_key(here, item) != key


def test_local_processes_need_no_library(here: Settings) -> None:
    with executor_of(LocalProcesses(), here, lambda _: None) as executor:
        assert isinstance(executor, LocalExecutor)

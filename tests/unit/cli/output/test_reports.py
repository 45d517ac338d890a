"""Reports in files and on standard output."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click
import pytest

from envbuilder.cli.output.reports import ReportOutput, destinations, finish
from envbuilder.diagnostics.report.registry import FORMATS
from tests.unit.diagnostics.report.test_reporting import REPORT

NO_TEXT = replace(REPORT, subject="/home/m\udcfcller")


@pytest.mark.parametrize("suffix", [".html", ".json", ".md", ".txt", ".xml"])
def test_a_name_that_is_no_text_can_be_written_in_every_format(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"report{suffix}"
    with pytest.raises(click.exceptions.Exit) as stop:
        finish([NO_TEXT], ReportOutput(form="json", files=destinations([file])))
    assert stop.value.exit_code == 1
    assert "/home/m" in file.read_text(encoding="utf-8")


def test_a_program_reads_back_a_name_that_is_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(click.exceptions.Exit):
        finish([NO_TEXT], ReportOutput(form="json", files={}))
    assert json.loads(capsys.readouterr().out)["subject"] == NO_TEXT.subject


def test_a_junit_file_may_have_any_name(tmp_path: Path) -> None:
    file = tmp_path / "report"
    assert destinations([], file) == {file: FORMATS["junit"]}


def test_a_report_that_is_not_written_whole_leaves_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text("old", encoding="utf-8")
    broken = replace(REPORT, seconds="none")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        finish([broken], ReportOutput(form="json", files=destinations([file])))
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]
    assert file.read_text(encoding="utf-8") == "old"

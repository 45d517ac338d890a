"""Every format says the same, and foreign text stays text."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest

from envbuilder.cli.output.fleet import fleet_lines
from envbuilder.cluster.fleet.fleet_report import FleetReport
from envbuilder.cluster.fleet.report.document import fleet_document, fleet_json, fleet_schema
from envbuilder.cluster.fleet.report.formats import FLEET_FORMATS, fleet_format
from envbuilder.cluster.fleet.report.junit import fleet_junit
from envbuilder.cluster.fleet.report.markdown import fleet_markdown
from envbuilder.cluster.fleet.report.page import fleet_page
from envbuilder.core.errors import UsageError
from tests.unit.cluster.fleet.fleets import TF_2_15


def test_the_document_follows_its_schema(mixed: FleetReport) -> None:
    # Its import takes seconds, which only this test is to cost.
    import jsonschema  # type: ignore[import-untyped]  # noqa: PLC0415

    schema = fleet_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads(fleet_json(mixed)))


def test_the_schema_names_every_field(mixed: FleetReport) -> None:
    assert set(fleet_schema()["$defs"]["FleetDocument"]["properties"]) == set(fleet_document(mixed))


def test_junit_counts_every_node_that_does_not_run_an_image(mixed: FleetReport) -> None:
    root = ET.fromstring(fleet_junit(mixed))  # noqa: S314  our own output
    suites = {suite.get("name"): suite for suite in root}

    assert suites["answers"].get("failures") == "3"
    assert [case.get("name") for case in suites["answers"] if len(case)] == ["a007", "gone01", "gone02"]
    image = mixed.images[0]
    assert suites[TF_2_15].get("failures") == str(mixed.judged - image.running)
    assert root.get("skipped") == "0"


_VOID = {"meta", "link", "rect"}


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        assert not any(name.startswith("on") or (name == "href" and value != "data:,") for name, value in attrs)
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in _VOID or self.open.pop() == tag


def test_the_page_is_well_formed_and_holds_no_foreign_tag(mixed: FleetReport) -> None:
    page = _Tags()
    page.feed(fleet_page(mixed))

    assert page.open == []
    assert not {"script", "iframe", "img", "form"} & set(page.found)
    assert page.found.count("b") == 1 + len(mixed.groups) + sum(bool(each.finding.remedies) for each in mixed.findings)


def test_markdown_keeps_foreign_text_in_its_cell(mixed: FleetReport) -> None:
    text = fleet_markdown(mixed)

    assert "<b>" not in text
    assert "gone[01-02]" in text


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_text_fits_the_terminal(mixed: FleetReport, columns: int) -> None:
    lines = "\n".join(fleet_lines(mixed, columns)).splitlines()
    long = [line for line in map(click.unstyle, lines) if len(line) > columns]

    # Lists of names, paths, expressions and commands are not cut.
    assert [line for line in long if " " in line.strip() and not line.startswith("        ")] == []
    assert any("update the driver of 41 nodes from 470.57.02 to 525.60.13" in line for line in lines)


@pytest.mark.parametrize("suffix", sorted(FLEET_FORMATS))
def test_every_format_names_the_result_and_the_nodes_that_are_not_proven(mixed: FleetReport, suffix: str) -> None:
    text = FLEET_FORMATS[suffix](mixed)

    assert text.endswith("\n")
    assert "gone" in text
    assert "470.57.02 is too old" in text


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="suffix"):
        fleet_format(tmp_path / "report.pdf")
    with pytest.raises(UsageError, match="directory not found"):
        fleet_format(tmp_path / "none" / "report.html")

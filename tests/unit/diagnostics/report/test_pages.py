"""Markdown and HTML: whatever others wrote stays text, and a page asks nobody for anything."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given

from envbuilder.diagnostics.checks.results import CheckResult, Figure, NotProven, Report, Tier, failure
from envbuilder.diagnostics.report.registry import FORMATS
from tests.unit.diagnostics.report.test_reporting import REPORT, reports

HTML, MARKDOWN = FORMATS["html"], FORMATS["markdown"]
NASTY = "<script>alert(1)</script> \"'& | `x` **b** @someone #1 \x00\x1b[31m \u202e"
ALLOWED = {
    *("html", "head", "meta", "title", "link", "style", "body", "header", "main", "footer", "section", "article"),
    *("div", "span", "p", "b", "h1", "h2", "h3", "code", "table", "tbody", "tr", "th", "td", "dl", "dt", "dd"),
    *("ul", "li", "svg", "rect", "line"),
}


class Page(HTMLParser):
    """Tags, attributes and text of a page; fails when a tag is closed that is not open."""

    VOID = frozenset({"meta", "link"})

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.bars: list[str] = []
        self.text = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        values = dict(attrs)
        self.links += [str(values[name]) for name in ("href", "src") if name in values]
        self.handlers += [name for name in values if name.startswith("on")]
        if values.get("class") == "bar":
            self.bars.append(str(values["width"]))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def nasty() -> Report:
    results = (
        CheckResult(id=NASTY, title=NASTY, outcome=failure(problem=NASTY, remedy=NASTY), group=NASTY),
        CheckResult(id=NASTY, title=NASTY, outcome=NotProven(reason=NASTY)),
    )
    figure = Figure(name=NASTY, value=1, unit=NASTY, low=0, high=2, group=NASTY)
    return replace(REPORT, subject=NASTY, environment=NASTY, results=results, figures=(figure,), not_covered=(NASTY,))


def test_a_page_loads_nothing_and_runs_nothing() -> None:
    source = HTML(REPORT)
    page = Page(source)
    assert page.links == ["data:,"]
    assert "url(" not in source
    assert "@import" not in source
    assert "default-src 'none'" in source


@given(reports)
def test_a_page_is_well_formed_and_has_only_our_tags(report: Report) -> None:
    page = Page(HTML(report))
    assert page.open == []
    assert page.tags <= ALLOWED
    assert page.handlers == []
    assert page.links == ["data:,"]


def test_what_others_wrote_is_text_in_a_page() -> None:
    page = Page(HTML(nasty()))
    assert "script" not in page.tags
    assert "<script>alert(1)</script>" in page.text
    assert not set("\x00\x1b\u202e") & set(page.text)


def test_a_page_says_failures_before_what_is_not_proven_and_what_nobody_looked_at_last() -> None:
    text = Page(HTML(REPORT)).text
    order = ("FAILED in tier cpu", "cuDNN is 7.6.5", "not exported", "Python 3.8.18", "8.1 µs", "did not prove")
    places = [text.rindex(words) if words == "did not prove" else text.index(words) for words in order]
    # The verdict stands in the title too.
    assert places == sorted(places)


def test_a_page_marks_what_was_required() -> None:
    assert 'class="badge"' in HTML(replace(REPORT, required=Tier.CPU))
    assert 'class="badge"' not in HTML(REPORT)


def test_bars_of_a_group_have_one_scale_and_a_number_alone_has_no_bar() -> None:
    def figure(name: str, value: float, unit: str) -> Figure:
        return Figure(name=name, value=value, unit=unit, group="G")

    three = (figure("a", 4, "s"), figure("b", 1, "s"), figure("c", 9, "bytes"))
    assert Page(HTML(replace(REPORT, figures=three))).bars == ["99.00%", "24.75%"]


@pytest.mark.parametrize("name", ["html", "markdown"])
def test_a_report_without_results_never_says_passed(name: str) -> None:
    written = FORMATS[name](replace(REPORT, results=()))
    assert "NOTHING PROVEN" in written
    assert "PASSED" not in written


def bare(markdown: str) -> str:
    """Without what is escaped or code: what is left has a meaning in Markdown."""
    return re.sub(r"\\.|`[^`\n]*`", "", markdown)


@given(reports)
def test_markdown_keeps_tables_whole_and_opens_no_tag(report: Report) -> None:
    written = bare(MARKDOWN(report))
    assert set(re.findall(r"<[^>\n]*>?", written)) <= {
        *("<details>", "</details>", "<summary>", "</summary>", "<!-- -->"),
    }
    for table in re.findall(r"(?:^\|.*\n)+", written, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_markdown_calls_nobody_and_links_to_no_issue() -> None:
    written = bare(MARKDOWN(nasty()))
    assert "@<!-- -->someone" in written
    assert not re.search(r"[@#]\w", written)


def test_markdown_folds_what_passed_and_shows_failures_with_remedies() -> None:
    written = MARKDOWN(REPORT)
    seen, _, folded = written.partition("<details>")
    assert (
        "| `cudnn-version` | cuDNN is 7.6.5; TensorFlow takes cuDNN 8.0 or a later 8.x | rebuild from the lock |"
        in seen
    )
    assert "not exported" in seen
    assert "Python 3.8.18" not in seen
    assert "Python 3.8.18" in folded
    assert written.index("did not prove") > written.rindex("</details>")

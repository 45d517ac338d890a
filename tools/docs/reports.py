"""The page with reports: the reports themselves, and pictures of them where a browser is installed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

PAGE = "reports.md"
_FOLDER = "reports"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_SECONDS = 120
_REPORTS = (
    (
        "failing",
        "A validation that failed",
        "An image whose TensorFlow finds no CUDA library: `envbuilder validate -o report.html`.",
    ),
    (
        "passing",
        "A validation that passed",
        "Two A100, with every check of tier `gpu`: `envbuilder validate --require gpu -o report.html`.",
    ),
    (
        "fleet",
        "A fleet",
        "The nodes of a cluster judged together: `envbuilder fleet check facts --lock envbuilder.lock -o report.html`.",
    ),
)
"""File, title and description of each report; the files are golden files, which a test compares with the code."""


def write_reports(golden: Path, pages: Path) -> bool:
    """Copy the reports into the site, take pictures of them, and write their page.

    Args:
        golden: Directory with the reports.
        pages: Directory of all pages.

    Returns:
        Whether there are pictures: False where no browser is installed.
    """
    target = pages / _FOLDER
    target.mkdir(parents=True, exist_ok=True)
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    for name, _, _ in _REPORTS:
        shutil.copyfile(golden / f"{name}.html", target / f"{name}.html")
        if browser:
            _picture(browser, target / f"{name}.html", target / f"{name}.png")
    (pages / PAGE).write_text("\n".join(_lines(pictures=browser is not None)) + "\n", encoding="utf-8")
    return browser is not None


def _lines(*, pictures: bool) -> Iterator[str]:
    yield "# Reports"
    yield ""
    yield "`validate` and `fleet check` write reports as HTML, Markdown, JSON and JUnit XML. An HTML report is one file"
    yield "without scripts, for mail and archives. What each part means is in [Validation](validation.md) and"
    yield "[Fleet](fleet.md). These reports are made from the facts of tests, not of real machines."
    yield ""
    if not pictures:
        yield "This site was built where no Chromium is installed, so it has no pictures of the reports."
        yield ""
    for name, title, text in _REPORTS:
        yield f"## {title}"
        yield ""
        yield f"{text} [Open the report]({_FOLDER}/{name}.html)"
        yield ""
        if pictures:
            yield f"[![{title}]({_FOLDER}/{name}.png){{ .report }}]({_FOLDER}/{name}.html)"
            yield ""


def _picture(browser: str, page: Path, picture: Path) -> None:
    """Write a picture of a page.

    Raises:
        CalledProcessError: The browser failed.
    """
    with tempfile.TemporaryDirectory(prefix="envbuilder-docs-") as profile:
        options = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1100,900")
        own = (f"--user-data-dir={profile}", f"--screenshot={picture}", page.resolve().as_uri())
        subprocess.run([browser, *options, *own], check=True, capture_output=True, timeout=_SECONDS)

from __future__ import annotations

from email.message import Message

import pytest

from envbuilder import __version__
from tests.fakes.catalogs import ROOT
from tools.release import changelog_problems, content_problems, metadata_problems, missing_for_publication


def metadata(**fields: str) -> Message:
    """Metadata of a wheel; an empty field is left out."""
    message = Message()
    complete = {
        "Name": "envbuilder", "Version": "1.0", "Description-Content-Type": "text/markdown", "Summary": "Images.",
        "Requires-Python": ">=3.11", "Requires-Dist": "click", "Classifier": "Typing :: Typed",
    }  # fmt: skip
    for name, value in {**complete, **{key.replace("_", "-"): value for key, value in fields.items()}}.items():
        if value:
            message[name] = value
    message.set_payload("# envbuilder")
    return message


def test_the_changelog_has_a_section_for_this_version() -> None:
    assert not list(changelog_problems((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), __version__))


@pytest.mark.parametrize(
    "text",
    [
        "## Unreleased\n\n## [1.0]\n",
        "## Unreleased\n",
        "## [1.0] - 2026-11-22\n",
        "## Unreleased\n\n## [1x0] - 2026-11-22\n",
    ],
)
def test_a_changelog_without_a_dated_section_is_refused(text: str) -> None:
    assert list(changelog_problems(text, "1.0"))


def test_complete_metadata_has_no_problem() -> None:
    assert not list(metadata_problems(metadata(), "1.0"))


@pytest.mark.parametrize(
    "fields",
    [{"Name": "other"}, {"Version": "0.9"}, {"Summary": ""}, {"Requires_Dist": ""}, {"Description_Content_Type": ""}],
)
def test_missing_or_wrong_metadata_is_named(fields: dict[str, str]) -> None:
    [problem] = metadata_problems(metadata(**fields), "1.0")
    assert next(iter(fields)).replace("_", "-") in problem


def test_licence_and_addresses_are_needed_for_a_publication_only() -> None:
    assert len(list(missing_for_publication(metadata()))) == 2
    assert not list(missing_for_publication(metadata(License_Expression="MIT", Project_URL="Source, somewhere")))


def test_files_that_are_missing_or_too_many_are_named() -> None:
    tracked = ("envbuilder/py.typed", "matrices/cuda.yaml", "tests/test_x.py", ".gitignore")
    wheel = ("envbuilder/py.typed", "envbuilder/_data/matrices/cuda.yaml", f"envbuilder-{__version__}.dist-info/RECORD")

    assert not list(content_problems(wheel, tracked, tracked))
    assert list(content_problems(wheel[:1], tracked[:2], tracked)) == [
        "wheel: envbuilder/_data/matrices/cuda.yaml is missing",
        "source distribution: tests/test_x.py is missing",
    ]
    assert list(content_problems((*wheel, "tests/test_x.py"), tracked, tracked)) == [
        "wheel: tests/test_x.py is not in the repository"
    ]

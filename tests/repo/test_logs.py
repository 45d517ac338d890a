"""The logs that were made here stay what their recipes say."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tools.logs import ALL
from tools.logs.recipes import BEYOND, CLASSES
from tools.logs.written import dump_case, without_host
from tools.make_logs import CASES

FILES = sorted(CASES.glob("real-*.yaml"))
FIELDS = ["id", "source", "class", "log", "env", "cause", "fix"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_log_is_a_complete_case_in_canonical_form(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    case = yaml.safe_load(text)

    assert list(case) == FIELDS
    assert case["id"] == file.stem
    assert case["class"] in CLASSES | BEYOND
    assert all(case[name].strip() for name in ("log", "cause", "fix"))
    assert dump_case(case) == text


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_log_names_no_index_and_not_this_host(file: Path) -> None:
    case = yaml.safe_load(file.read_text(encoding="utf-8"))

    assert without_host(case["log"]) == case["log"]


def test_every_log_has_its_recipe_and_every_recipe_its_log() -> None:
    assert {file.stem for file in FILES} == set(ALL)


def test_a_log_says_what_stood_in_for_the_real_thing() -> None:
    for file in FILES:
        assert ALL[file.stem].arranged in yaml.safe_load(file.read_text(encoding="utf-8"))["source"]


def test_a_log_that_cannot_be_a_block_is_written_in_quotes_and_reads_the_same() -> None:
    case: dict[str, str | dict[str, str]] = {"id": "x", "log": "10%\r20%\r\n\x1b[31mred\x1b[0m\n", "env": {}}

    assert yaml.safe_load(dump_case(case)) == case


@pytest.mark.parametrize(
    ("printed", "kept"),
    [
        ("Looking in indexes: x\nfine", "fine"),
        ("Get https://somewhere.invalid/v2/: no", "Get <index> no"),
        ("lookup registry-1.somewhere.io on 10.0.0.1", "lookup <index> on 10.0.0.1"),
        ("see https://www.tensorflow.org/install/errors", "see https://www.tensorflow.org/install/errors"),
    ],
)
def test_addresses_of_an_index_are_cut_and_those_of_documents_stay(printed: str, kept: str) -> None:
    assert without_host(printed) == kept

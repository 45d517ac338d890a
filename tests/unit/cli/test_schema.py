"""`schema`: every document has one, and documents have the form that it says.

What commands print in other tests is compared by `tests/fakes/documents.py`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from envbuilder.cli.documents.schemas import DOCUMENTS
from envbuilder.lock.prioritized_files import dump_prioritized
from tests.command_tree import commands
from tests.fakes.catalogs import ROOT
from tests.fakes.documents import faults, refuse_other_documents, validator
from tests.unit.cli.running import CommandLine

WITH_JSON = [name for name, each in commands().items() if any("--json" in option.opts for option in each.params)]
GOLDEN = ROOT / "tests" / "golden"
SPECS = sorted((GOLDEN / "specs").glob("*.yaml"))
LOCKS = [ROOT / "tests" / "data" / "good.lock", *sorted((GOLDEN / "images").rglob("*.lock"))]
FACTS = sorted((ROOT / "tests" / "cases" / "facts").glob("*.json"))


@pytest.mark.parametrize("name", WITH_JSON)
def test_a_command_with_json_has_a_schema(name: str) -> None:
    assert name in DOCUMENTS or name.partition(" ")[0] in DOCUMENTS


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_schema_is_a_schema_and_refuses_something_else(name: str) -> None:
    assert validator(name)
    assert faults(name, {"schema": 99})


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_name_is_that_of_a_file_or_of_a_command(name: str) -> None:
    verbs = {word for each in WITH_JSON for word in (each, each.partition(" ")[0])}
    assert name in {"spec", "lock-file", "prioritized-files", "facts", "error", *verbs}


@pytest.mark.parametrize("file", SPECS, ids=lambda file: file.stem)
def test_specs_have_the_form_of_their_schema(file: Path) -> None:
    assert faults("spec", yaml.safe_load(file.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("file", LOCKS, ids=lambda file: file.parent.name)
def test_locks_have_the_form_of_their_schema(file: Path) -> None:
    assert faults("lock-file", yaml.safe_load(file.read_text(encoding="utf-8"))) == []


def test_lists_of_opened_files_have_the_form_of_their_schema() -> None:
    text = dump_prioritized((("base", ("/usr/lib/a b.so",)), ("own", ())))
    assert faults("prioritized-files", yaml.safe_load(text)) == []
    assert faults("prioritized-files", {"schema": 1, "layers": {"base": "/usr/lib/x"}})


@pytest.mark.parametrize("file", FACTS, ids=lambda file: file.stem)
def test_facts_have_the_form_of_their_schema(file: Path) -> None:
    assert faults("facts", json.loads(file.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("spec", {"pakages": ["six"]}),
        ("spec", {"packages": "six"}),
        ("spec", {"environment": 2.4}),
        ("lock-file", {"packages": [{"name": "six"}]}),
        ("lock-file", {"base": None}),
        ("facts", {"facts": {"machine": {"ok": True}}}),
        ("facts", {"seconds": "long"}),
    ],
)
def test_a_document_with_a_fault_is_refused(name: str, change: dict[str, Any]) -> None:
    sound = {"spec": SPECS[0], "lock-file": LOCKS[0], "facts": FACTS[0]}[name]
    document = yaml.safe_load(sound.read_text(encoding="utf-8"))
    assert faults(name, document) == []
    assert faults(name, document | change)


def test_another_document_than_that_of_the_command_is_refused() -> None:
    with pytest.raises(AssertionError, match="diff"):
        refuse_other_documents(("diff", "a", "b", "--json"), '{"schema": 1, "changes": [], "more": 1}')


def test_without_a_name_the_documents_are_listed(envbuilder: CommandLine) -> None:
    ended = envbuilder("schema")
    assert ended.status == 0
    assert [name for name in DOCUMENTS if f"\n{name} " not in ended.stdout] == []


def test_a_schema_is_printed(envbuilder: CommandLine) -> None:
    ended = envbuilder("schema", "cache", "list")
    assert json.loads(ended.stdout)["$id"] == "urn:envbuilder:cache-list:1"


def test_an_unknown_name_gets_a_suggestion(envbuilder: CommandLine) -> None:
    ended = envbuilder("schema", "valdate")
    assert ended.status == 2
    assert "there is no document 'valdate'" in ended.stderr
    assert "envbuilder schema validate" in ended.stderr


def test_an_error_with_json_has_the_form_of_its_schema(envbuilder: CommandLine) -> None:
    assert envbuilder("show", "tf-9.9", "--json").status == 2
    envbuilder.write("envbuilder.yaml", "pakages: []\n")
    assert envbuilder("lock", "--json").status == 3

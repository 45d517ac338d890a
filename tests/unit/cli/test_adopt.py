"""`envbuilder adopt` writes a spec for a project, and overwrites nothing."""

from __future__ import annotations

import json

from envbuilder.lock.spec import read_spec
from tests.unit.cli.running import CommandLine


def project(envbuilder: CommandLine, requirements: str) -> None:
    (envbuilder.folder / "old").mkdir()
    envbuilder.write("old/requirements.txt", requirements)


def test_a_project_gets_a_spec_that_names_its_lines(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow-gpu==1.4.1\n")
    ended = envbuilder("adopt", "old")
    assert ended.status == 0
    text = (envbuilder.folder / "old" / "envbuilder.yaml").read_text(encoding="utf-8")
    assert 'environment: "tf-1.4-cuda8.0"  # requirements.txt:1' in text
    assert read_spec(text, "envbuilder.yaml").environment == "tf-1.4-cuda8.0"
    assert "requirements.txt:1 (stated)" in ended.stdout
    assert "`envbuilder lock old/envbuilder.yaml`" in ended.stdout


def test_an_existing_spec_is_kept(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow-gpu==1.4.1\n")
    kept = envbuilder.write("old/envbuilder.yaml", "mine")
    assert envbuilder("adopt", "old").status == 2
    assert envbuilder("adopt", "old", "--dry-run").status == 0
    assert kept.read_text(encoding="utf-8") == "mine"


def test_the_document_has_every_conclusion_with_its_line(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow-gpu==1.4.1\n-e .\n")
    ended = envbuilder("adopt", "old", "--dry-run", "--json", "--gpu", "K80")
    document = json.loads(ended.stdout)
    assert (document["environment"], document["spec"], document["device"]) == ("tf-1.4-cuda8.0", None, "gpu")
    assert document["clues"][0] == {
        "kind": "tensorflow",
        "value": "==1.4.1",
        "file": "requirements.txt",
        "line": 1,
        "confidence": "stated",
    }
    assert document["unused"][0]["line"] == 2


def test_a_project_that_no_environment_fits_names_the_nearest_and_writes_nothing(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow==0.12.1\n")
    ended = envbuilder("adopt", "old")
    assert ended.status == 1
    assert "tf-1.4-" in ended.stdout
    assert not (envbuilder.folder / "old" / "envbuilder.yaml").exists()


def test_a_path_that_is_no_directory_is_a_usage_error(envbuilder: CommandLine) -> None:
    assert envbuilder("adopt", "nowhere").status == 2

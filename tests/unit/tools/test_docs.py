"""Pages that the documentation site has beside those of docs/, and how the others come into it."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from envbuilder import api
from envbuilder.catalog.environments import Environment
from envbuilder.cli.documents.schemas import DOCUMENTS
from envbuilder.cli.global_options import GlobalOption
from tests.command_tree import commands, commands_and_groups, options
from tests.fakes.catalogs import ROOT, real_catalog
from tools.docs.commands import command_pages
from tools.docs.environments import environment_pages, linked
from tools.docs.interface import PAGE as INTERFACE
from tools.docs.interface import interface_page
from tools.docs.markdown import code, table
from tools.docs.navigation import navigation
from tools.docs.outside import loaded_from_elsewhere
from tools.docs.reports import PAGE, write_reports
from tools.docs.schemas import schema_pages
from tools.docs.staging import stage

GUIDE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
COMMANDS = command_pages(GUIDE)
ENVIRONMENTS = environment_pages(real_catalog())


@pytest.mark.parametrize("name", commands())
def test_a_command_has_a_page_with_each_of_its_options(name: str) -> None:
    page = COMMANDS[f"commands/{name.split(maxsplit=1)[0]}.md"]
    assert f" envbuilder {name}\n" in page
    elsewhere = [each for each in commands()[name].params if getattr(each, "hidden", False) or _is_global(each)]
    named = options(commands()[name]) - {option for each in elsewhere for option in each.opts}
    assert [option for option in named if option not in page] == []


def _is_global(option: click.Parameter) -> bool:
    """Whether each command has it, so that only the guide describes it."""
    return isinstance(option, GlobalOption)


def test_the_index_leads_to_every_command_and_the_page_of_a_command_to_the_guide() -> None:
    verbs = [name for name in commands_and_groups() if " " not in name]
    assert all(f"]({verb}.md)" in COMMANDS["commands/index.md"] for verb in verbs)
    assert [verb for verb in verbs if "](../cli.md#" not in COMMANDS[f"commands/{verb}.md"]] == []


def test_defaults_are_those_of_the_help() -> None:
    assert "Maximum number of environments to show. Default: `5`." in COMMANDS["commands/advise.md"]


@pytest.mark.parametrize("row", real_catalog().environments, ids=lambda row: row.id)
def test_an_environment_has_a_page_with_traps_bounds_bases_and_evidence(row: Environment) -> None:
    page = ENVIRONMENTS[f"environments/{row.id}.md"]
    assert f"]({row.id}.md)" in ENVIRONMENTS["environments/index.md"]
    named = (
        *(f"`{trap.id}`" for trap in row.advisories),
        *(f"`{bound.requirement}`" for bound in (*row.constraints, *row.additions)),
        *(f"\n| {choice.system.id} |" for choice in row.bases),
        *(f"\n| {proof.grade.value} | {proof.when} |" for proof in row.evidence),
    )
    assert [each for each in named if each not in page] == []


def test_the_reference_of_the_interface_has_every_name_and_parameter() -> None:
    page = interface_page()
    assert [name for name in api.__all__ if f"\n### {name}\n" not in page] == []
    assert "- `offline`: Fetch no base, interpreter or OS package." in page
    assert ">>> made = lock(" in page


def test_every_document_has_a_schema_in_the_site() -> None:
    pages = schema_pages()
    assert all(f"[`{name}`](schemas/{name.replace(' ', '-')}.json)" in pages["schemas.md"] for name in DOCUMENTS)
    assert json.loads(pages["schemas/cache-list.json"]) == DOCUMENTS["cache list"].schema()


def test_the_page_of_gpus_leads_to_the_environments() -> None:
    page = linked((ROOT / "docs" / "gpus.md").read_text(encoding="utf-8"))
    assert "| [tf-2.4-cuda11.0](environments/tf-2.4-cuda11.0.md) |" in page


def test_nothing_of_this_machine_is_on_the_pages() -> None:
    assert not [page for page, text in ENVIRONMENTS.items() if str(Path.home()) in text]


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert list(table(("a",), [[code("x|y")]])) == ["| a |", "| --- |", "| <code>x&#124;y</code> |", ""]


def repository(root: Path, readme: str = "", page: str = "") -> Path:
    (root / "docs" / "adr").mkdir(parents=True)
    for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"):
        (root / name).write_text(f"# {name}\n", encoding="utf-8")
    (root / "README.md").write_text(readme, encoding="utf-8")
    (root / "docs" / "lock.md").write_text("# The lock\n", encoding="utf-8")
    (root / "docs" / "adr" / "0001.md").write_text(page, encoding="utf-8")
    (root / "data.yaml").write_text("a: 1\n", encoding="utf-8")
    return root


def staged(tmp_path: Path, readme: str = "", page: str = "") -> Path:
    root = repository(tmp_path / "root", readme, page)
    stage(root, tmp_path / "pages", {"made/x.md": "# X\n"})
    return tmp_path / "pages"


def test_links_lead_to_the_same_documents_within_the_site(tmp_path: Path) -> None:
    pages = staged(
        tmp_path,
        readme="[docs/lock.md](docs/lock.md#a) [why](docs/adr/0001.md) [web](https://example.org/x.md)\n",
        page="[up](../../CONTRIBUTING.md) [data](../../data.yaml) [lock](../lock.md)\n",
    )
    home = (pages / "index.md").read_text(encoding="utf-8")
    assert "[The lock](lock.md#a) [why](adr/0001.md) [web](https://example.org/x.md)" in home
    record = (pages / "adr" / "0001.md").read_text(encoding="utf-8")
    assert record == "[up](../contributing.md) [data](../repository/data.yaml) [lock](../lock.md)\n"
    assert (pages / "repository" / "data.yaml").read_text(encoding="utf-8") == "a: 1\n"
    assert (pages / "made" / "x.md").is_file()


def test_links_in_examples_are_not_changed_and_words_for_the_tests_are_left_out(tmp_path: Path) -> None:
    pages = staged(tmp_path, page="```console fails\n[x](../lock.md)\n```\n")
    assert (pages / "adr" / "0001.md").read_text(encoding="utf-8") == "```console\n[x](../lock.md)\n```\n"


def test_pages_of_an_earlier_build_are_removed(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "old.md").write_text("old", encoding="utf-8")
    assert not (staged(tmp_path) / "old.md").exists()


def test_the_navigation_has_every_page(tmp_path: Path) -> None:
    generated = {**COMMANDS, **ENVIRONMENTS, INTERFACE: "", **schema_pages()}
    stage(ROOT, tmp_path, generated)
    (tmp_path / PAGE).touch()
    named = json.dumps(navigation(ROOT / "docs" / "mkdocs.yml", tmp_path, generated))
    pages = {file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*.md")}
    assert {page for page in pages if f'"{page}"' not in named} == set()


def test_the_newest_environment_comes_first_in_the_navigation() -> None:
    assert list(ENVIRONMENTS)[1].startswith("environments/tf-2.21")


@pytest.mark.parametrize(
    "tag",
    [
        '<script src="https://example.org/x.js"></script>',
        '<link rel="stylesheet" href="https://example.org/x.css">',
        '<img src="//example.org/x.png">',
    ],
)
def test_a_page_that_loads_from_another_host_is_found(tag: str, tmp_path: Path) -> None:
    (tmp_path / "x.html").write_text(tag, encoding="utf-8")
    assert [page for page, _ in loaded_from_elsewhere(tmp_path)] == ["x.html"]


@pytest.mark.parametrize(
    "tag",
    [
        '<script src="assets/x.js"></script>',
        '<a href="https://example.org/">there</a>',
        '<link rel="canonical" href="https://example.org/x.html">',
    ],
)
def test_links_that_a_reader_follows_are_not(tag: str, tmp_path: Path) -> None:
    (tmp_path / "x.html").write_text(tag, encoding="utf-8")
    assert list(loaded_from_elsewhere(tmp_path)) == []


def test_without_a_browser_the_page_of_reports_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not write_reports(ROOT / "tests" / "golden" / "reports", tmp_path)
    page = (tmp_path / PAGE).read_text(encoding="utf-8")
    assert "no pictures of the reports" in page
    assert ".png" not in page
    assert (tmp_path / "reports" / "failing.html").is_file()

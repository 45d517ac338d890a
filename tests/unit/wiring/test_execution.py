"""What is sent to workers, what is accepted from them, and when a result is that of the same call."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.catalog.load.team_catalogs import load_with_teams
from envbuilder.catalog.references import CatalogPlace
from envbuilder.cluster.execution.local_processes import LocalExecutor
from envbuilder.cluster.execution.packed_files import read_files, unpack_files
from envbuilder.cluster.execution.targets import LocalProcesses
from envbuilder.core.errors import UsageError, VerificationFailed
from envbuilder.curation.proof.catalog_files import CatalogFiles
from envbuilder.wiring.configuration_file import parse
from envbuilder.wiring.execution import (
    executor_of,
    files_for,
    place_of,
    record_files,
    result_key,
    sent_variables,
    work_item,
)
from envbuilder.wiring.settings import Settings
from tests.fakes.catalogs import DATA
from tests.fakes.executors import done
from tests.fakes.teams import OWN, put, team_catalog

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


def test_the_catalog_of_a_row_has_locks_and_reports_of_that_row_only(here: Settings) -> None:
    sent = files_for(here, ROW)
    every = {f"matrices/{path}" for path in read_files(here.matrices)}
    assert every - set(sent) == {
        "matrices/locks/tf-2.16-cpu.yaml",
        "matrices/evidence/reports/tf-2.16-cpu/cpu-3.11.json",
    }
    assert unpack_files(work_item(here, ROW, ("list",), sent).files) == sent


def test_changes_of_the_row_are_written_to_the_catalog(records: CatalogFiles, here: Settings) -> None:
    sent = files_for(here, ROW)
    changed = {f"matrices/{EVIDENCE}": "new\n", f"matrices/{REPORT}": None}
    record_files(records, ROW, sent, done(ROW, files=changed))
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
        f"teams/0/{EVIDENCE}",
    ],
)
def test_other_files_are_refused_and_nothing_is_written(records: CatalogFiles, path: str) -> None:
    before = read_files(records.matrices)
    with pytest.raises(VerificationFailed, match="not those of"):
        record_files(records, ROW, before, done(ROW, files={f"matrices/{EVIDENCE}": "new\n", path: "x"}))
    assert read_files(records.matrices) == before


def test_what_was_changed_here_meanwhile_is_not_overwritten(records: CatalogFiles, here: Settings) -> None:
    sent = files_for(here, ROW)
    records.write(EVIDENCE, "by another call\n")
    with pytest.raises(UsageError, match=r"evidence/tf-2\.15-cpu\.yaml was changed here while"):
        record_files(records, ROW, sent, done(ROW, files={f"matrices/{EVIDENCE}": "new\n"}))


def test_a_result_belongs_to_command_row_tables_and_lock(here: Settings, tmp_path: Path) -> None:
    item = work_item(here, ROW, ("build", "--json", "--", ROW), {})
    key = result_key(here, item)
    (here.matrices / "environments" / "tf-2.16-cpu.yaml").write_text("another row\n", encoding="utf-8")
    assert result_key(here, item) == key
    assert result_key(here, work_item(here, ROW, ("build", "--push", "--json", "--", ROW), {})) != key
    for name in ("cuda.yaml", f"environments/{ROW}.yaml", f"locks/{ROW}.yaml"):
        (here.matrices / name).write_text("changed\n", encoding="utf-8")
        assert result_key(here, item) != key
        key = result_key(here, item)
    lock = tmp_path / "some.lock"
    keys = set()
    for text in ("one", "two"):
        lock.write_text(text, encoding="utf-8")
        keys.add(result_key(here, work_item(here, str(lock), ("build", "--json", "--", str(lock)), {})))
    assert len(keys) == 2
    item = work_item(here, "image", ("validate", f"--lock={lock}", "--", "image"), {})
    key = result_key(here, item)
    lock.write_text("three", encoding="utf-8")
    assert result_key(here, item) != key


def with_settings(here: Settings, folder: Path, text: str = "", **variables: str) -> Settings:
    return replace(here, environ=variables, configuration=parse(text, folder / "config.toml"))


def test_catalogs_of_teams_are_sent_and_their_results_return_to_them(here: Settings, tmp_path: Path) -> None:
    team = team_catalog(tmp_path / "team")
    put(team / "specs" / "base.yaml", f'environment: "{OWN}"\n')
    put(team / "README.md", "not a file of a catalog\n")
    put(team / ".git" / "config", "\n")
    commit = "git+https://git.example/catalog@" + "a" * 40
    configured = with_settings(here, tmp_path, f'catalogs = ["{commit}", "team"]\n')
    sent = files_for(configured, OWN)
    assert {path for path in sent if path.startswith("teams/")} == {
        f"teams/1/{path}"
        for path in ("catalog.yaml", f"environments/{OWN}.yaml", f"evidence/{OWN}.yaml", "specs/base.yaml")
    }
    variables = dict(sent_variables(configured))
    assert variables["ENVBUILDER_CATALOGS"] == f"{commit} {{files}}/teams/1"
    assert variables["ENVBUILDER_MATRICES"] == "{files}/matrices"
    one = with_settings(here, tmp_path, 'catalogs = ["team"]\n')
    catalog = load_with_teams(here.matrices, (CatalogPlace(folder=team),))
    assert [place_of(one, catalog, row) for row in (ROW, OWN)] == ["matrices", "teams/0"]
    evidence = f"teams/0/evidence/{OWN}.yaml"
    records = CatalogFiles(matrices=team)
    record_files(records, OWN, files_for(one, OWN), done(OWN, files={evidence: "new\n"}), "teams/0")
    assert (team / "evidence" / f"{OWN}.yaml").read_text(encoding="utf-8") == "new\n"


def test_a_file_of_a_team_that_is_not_text_is_not_sent(here: Settings, tmp_path: Path) -> None:
    team = team_catalog(tmp_path / "team")
    put(team / "specs" / "logo.png", "").write_bytes(b"\x89PNG")
    with pytest.raises(UsageError, match="has a file that is not text"):
        files_for(with_settings(here, tmp_path, 'catalogs = ["team"]\n'), OWN)


def test_settings_that_decide_what_is_built_are_sent(here: Settings, tmp_path: Path) -> None:
    text = """
cache = "cache"
index = "http://of.file/simple"
layer-cache = ["registry.example/layers", "other.example/layers"]
debian-keyring = "keys.gpg"
accept-nvidia-eula = true
color = "always"
"""
    variables = {"ENVBUILDER_MIRROR": "registry.example/mirror", "UV_DEFAULT_INDEX": "http://of.uv/simple"}
    assert dict(sent_variables(with_settings(here, tmp_path, text, **variables))) == {
        "ENVBUILDER_ACCEPT_NVIDIA_EULA": "true",
        "ENVBUILDER_DEBIAN_KEYRING": f"{tmp_path}/keys.gpg",
        "ENVBUILDER_INDEX": "http://of.uv/simple",
        "ENVBUILDER_LAYER_CACHE": "registry.example/layers other.example/layers",
        "ENVBUILDER_MATRICES": "{files}/matrices",
        "ENVBUILDER_MIRROR": "registry.example/mirror",
        "ENVBUILDER_OPTIONS_SENT": "1",
    }


def test_directories_of_publishers_are_sent_as_absolute_paths(
    here: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sent = sent_variables(with_settings(here, tmp_path, ENVBUILDER_PUBLISHERS="nvidia=files other=http://a.example/"))
    assert dict(sent)["ENVBUILDER_PUBLISHERS"] == f"nvidia={tmp_path}/files other=http://a.example/"


def test_a_value_of_a_list_with_a_space_is_refused(here: Settings, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"config\.toml:1: .*cannot be sent to workers: it contains a space"):
        sent_variables(with_settings(here, tmp_path, 'debian-mirror = ["/a b"]\n'))


def test_a_result_belongs_to_the_settings_and_to_the_catalogs_of_teams(here: Settings, tmp_path: Path) -> None:
    team = team_catalog(tmp_path / "team")

    def key(text: str) -> str:
        configured = with_settings(here, tmp_path, text)
        return result_key(configured, work_item(configured, OWN, ("build",), {}))

    keys = [key(""), key('catalogs = ["team"]\n'), key('mirror = "a.example/b"\n')]
    put(team / "environments" / f"{OWN}.yaml", "changed\n")
    keys.append(key('catalogs = ["team"]\n'))
    assert len(set(keys)) == 4


def test_local_processes_need_no_library(here: Settings) -> None:
    with executor_of(LocalProcesses(), here, lambda _: None) as executor:
        assert isinstance(executor, LocalExecutor)

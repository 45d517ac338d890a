"""Catalogs of teams and extended specs on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envbuilder.catalog.load.team_catalogs import load_with_teams
from envbuilder.catalog.references import CatalogPlace
from envbuilder.lock.create import lock
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import dump
from envbuilder.lock.spec import Spec
from tests.fakes.catalogs import DATA
from tests.fakes.ports import lock_ports
from tests.fakes.teams import OWN, committed, put, team_catalog
from tests.unit.cli.running import CommandLine


@pytest.fixture
def team(envbuilder: CommandLine, tmp_path: Path) -> Path:
    envbuilder.set("ENVBUILDER_MATRICES", str(DATA / "catalog"))
    return team_catalog(tmp_path / "catalog")


def locked(place: CatalogPlace) -> Lock:
    return lock(load_with_teams(DATA / "catalog", (place,)), Spec(environment=OWN), lock_ports())


def test_the_origin_of_an_environment_is_told(envbuilder: CommandLine, team: Path) -> None:
    assert OWN not in envbuilder("list").stdout
    envbuilder.set("ENVBUILDER_CATALOGS", str(team))
    told = " ".join(envbuilder("list").stdout.split())
    assert "From the catalog vision," in told
    assert told.endswith(f": {OWN}")
    document = json.loads(envbuilder("list", "--json").stdout)
    catalogs = {row["id"]: row["catalog"] for row in document["environments"]}
    assert catalogs["tf-2.15-cpu"] is None
    assert catalogs[OWN]["name"] == "vision"
    assert catalogs[OWN]["directory"] == str(team)
    assert "from the catalog vision" in " ".join(envbuilder("show", OWN).stdout.split())
    assert json.loads(envbuilder("show", OWN, "--json").stdout)["catalog"] == catalogs[OWN]


def test_a_catalog_at_a_commit_is_fetched_once(envbuilder: CommandLine, team: Path) -> None:
    commit = committed(team)
    envbuilder.set("ENVBUILDER_CATALOGS", f"git+file://{team}@{commit}")
    first = envbuilder("show", OWN)
    assert f"fetching the catalog git+file://{team}@{commit}" in first.stderr
    # The path of the directory decides where lines are folded.
    assert f"commit {commit[:12]}" in " ".join(first.stdout.split())
    assert "fetching" not in envbuilder("show", OWN).stderr


@pytest.mark.parametrize(
    ("named", "problem"),
    [
        (
            "git+https://me:secret@git.example/x@main",
            "must end with @ and the full hash of a commit",
        ),
        ("nowhere", "the catalog nowhere is not a directory"),
    ],
)
def test_a_wrong_variable_is_a_usage_error(envbuilder: CommandLine, named: str, problem: str) -> None:
    envbuilder.set("ENVBUILDER_CATALOGS", named)
    ended = envbuilder("list")
    assert ended.status == 2
    assert problem in " ".join(ended.stderr.split())
    assert "secret" not in ended.stderr


def test_a_fault_of_a_catalog_has_its_file_and_line(envbuilder: CommandLine, team: Path) -> None:
    put(team / "catalog.yaml", "schema: 1\nname: Vision\n")
    envbuilder.set("ENVBUILDER_CATALOGS", str(team))
    ended = envbuilder("list")
    assert ended.status == 3
    assert "catalog.yaml:2: name: 'Vision' is not an id" in ended.stderr


def test_the_lock_names_the_catalog_and_says_what_is_missing_without_it(envbuilder: CommandLine, team: Path) -> None:
    commit = committed(team)
    made = locked(CatalogPlace(folder=team, address="file:///x", commit=commit))
    envbuilder.write("envbuilder.lock", dump(made))
    envbuilder.write("envbuilder.yaml", f'environment: "{OWN}"\n')
    assert f"(catalog vision, commit {commit[:12]})" in envbuilder("show", "envbuilder.lock").stdout
    ended = envbuilder("lock", "--check")
    assert ended.status == 2
    assert f"{OWN} is an environment of the catalog vision, commit {commit[:12]}" in ended.stderr
    assert f"git+URL@{commit}" in " ".join(ended.stderr.split())
    envbuilder.set("ENVBUILDER_CATALOGS", str(team))
    assert envbuilder("lock", "--check").status == 0


def test_the_catalogs_of_the_spec_take_the_place_of_those_of_the_host(envbuilder: CommandLine, team: Path) -> None:
    commit = committed(team)
    envbuilder.set("ENVBUILDER_CATALOGS", "/nonexistent")
    envbuilder.write("envbuilder.lock", dump(locked(CatalogPlace(folder=team, commit=commit))))
    envbuilder.write("envbuilder.yaml", f'environment: "{OWN}"\ncatalogs: ["git+file://{team}@{commit}"]\n')
    assert envbuilder("lock", "--check").status == 0
    assert envbuilder("plan").status == 0


def test_an_environment_that_moved_to_another_catalog_makes_the_lock_stale(envbuilder: CommandLine, team: Path) -> None:
    envbuilder.write("envbuilder.lock", dump(locked(CatalogPlace(folder=team))))
    envbuilder.write("envbuilder.yaml", f'environment: "{OWN}"\n')
    put(team / "catalog.yaml", 'schema: 1\nname: "audio"\n')
    envbuilder.set("ENVBUILDER_CATALOGS", str(team))
    changes = json.loads(envbuilder("lock", "--check", "--json").stdout)["changes"]
    assert changes == [{"field": "catalog", "old": "vision", "new": "audio"}]


def test_two_locks_with_different_catalogs_are_built_one_at_a_time(envbuilder: CommandLine, team: Path) -> None:
    for name in ("a", "b"):
        folder = team_catalog(envbuilder.folder / name / "catalog", name=name)
        put(envbuilder.folder / name / "envbuilder.lock", dump(locked(CatalogPlace(folder=folder))))
        put(envbuilder.folder / name / "envbuilder.yaml", f'environment: "{OWN}"\ncatalogs: ["catalog"]\n')
    ended = envbuilder("fetch", "a", "b", "-o", "files")
    assert ended.status == 2
    assert "a/envbuilder.yaml and b/envbuilder.yaml name different catalogs" in ended.stderr


def test_the_values_of_a_spec_are_shown_with_their_origin(envbuilder: CommandLine, team: Path) -> None:
    put(team / "specs" / "base.yaml", f'environment: "{OWN}"\npackages: ["six"]\n')
    commit = committed(team)
    envbuilder.write(
        "envbuilder.yaml", f'extends: "vision:base"\ncatalogs: ["git+file://{team}@{commit}"]\npackages: ["pandas"]\n'
    )
    told = envbuilder("show", "envbuilder.yaml").stdout
    assert "extends vision:base" in told
    assert f"catalog vision, file://{team}, commit {commit[:12]}" in told
    document = json.loads(envbuilder("show", "envbuilder.yaml", "--json").stdout)
    assert document["files"] == ["vision:base", "envbuilder.yaml"]
    assert {"field": "packages", "value": "six", "file": "vision:base", "line": 2} in document["values"]
    assert {"field": "packages", "value": "pandas", "file": "envbuilder.yaml", "line": 3} in document["values"]


def test_the_configuration_names_catalogs_relative_to_its_directory(envbuilder: CommandLine, team: Path) -> None:
    path = put(team.parent / "settings" / "config.toml", 'catalogs = ["../catalog"]\n')
    envbuilder.set("ENVBUILDER_CONFIG", str(path))
    assert "from the catalog vision" in " ".join(envbuilder("show", OWN).stdout.split())
    put(path, '\ncatalogs = ["git+https://git.example/x@main"]\n')
    ended = envbuilder("list")
    assert ended.status == 2
    assert f"{path}:2: git+https://git.example/x@main must end with" in " ".join(ended.stderr.split())

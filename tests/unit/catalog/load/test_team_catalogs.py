"""Catalogs of teams add environments to those of envbuilder, and are checked like them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.load.team_catalogs import load_with_teams
from envbuilder.catalog.references import CatalogPlace
from envbuilder.catalog.selection import named
from envbuilder.core.errors import InvalidInput
from tests.fakes.catalogs import DATA, small_catalog
from tests.fakes.teams import OWN, ROW, put, row_text, team_catalog

BASE = """schema: 1
bases:
  - id: "debian-{name}"
    kind: "debian"
    suite: "bookworm"
    components: ["main"]
    packages: ["ca-certificates", "python3"]
    glibc: "2.36"
    glibcxx: "3.4.30"
    python: "3.11"
    publication:
      state: "published"
      date: "2026-11-01"
      note: "in the archive of the team"
      sources: ["made up for tests"]
    sources: ["made up for tests"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return team_catalog(tmp_path / "team")


def loaded(*folders: Path) -> Catalog:
    return load_with_teams(DATA / "catalog", tuple(CatalogPlace(folder=folder) for folder in folders))


def told(*folders: Path) -> str:
    with pytest.raises(InvalidInput) as caught:
        loaded(*folders)
    return caught.value.message.replace(f"{folders[0].parent}/", "")


def test_its_environments_are_added_and_know_their_origin(folder: Path) -> None:
    catalog = loaded(folder)
    assert [row.id for row in catalog.environments][-2:] == [ROW, OWN]
    origin = catalog.origin(OWN)
    assert origin is not None
    assert (origin.name, origin.environments) == ("vision", (OWN,))
    assert catalog.origin(ROW) is None
    assert loaded() == small_catalog()


def test_the_short_name_of_a_release_keeps_its_meaning(folder: Path) -> None:
    team_catalog(folder, "tf-2.4-cuda11.0-vision")
    (folder / "environments" / "tf-2.4-cuda11.0-vision.yaml").write_text(
        (DATA / "catalog" / "environments" / "tf-2.4-cuda11.0.yaml")
        .read_text(encoding="utf-8")
        .replace('id: "tf-2.4-cuda11.0"', 'id: "tf-2.4-cuda11.0-vision"'),
        encoding="utf-8",
    )
    assert named(loaded(folder), "tf-2.4").id == "tf-2.4-cuda11.0"


def test_an_environment_that_is_listed_is_overridden_with_its_evidence(folder: Path) -> None:
    team_catalog(folder, ROW, more=f'overrides: ["{ROW}"]\n')
    text = row_text(ROW).replace("2.15.1 for CPUs", "2.15.1 of the team")
    put(folder / "environments" / f"{ROW}.yaml", text)
    catalog = loaded(folder)
    row = catalog.environment(ROW)
    assert row is not None
    assert row.summary == "TensorFlow 2.15.1 of the team"
    assert [each.id for each in catalog.environments].count(ROW) == 1
    assert catalog.origin(ROW) is not None


def test_an_environment_that_is_not_listed_is_not_overridden(folder: Path) -> None:
    team_catalog(folder, ROW)
    assert (
        f"team/environments/{ROW}.yaml:2: id: the catalog of envbuilder has this environment too (list it under "
        f"`overrides` in catalog.yaml, or choose another id, such as {ROW}-vision)"
    ) in told(folder)


def test_the_later_of_two_catalogs_overrides_the_earlier_one_if_it_says_so(folder: Path, tmp_path: Path) -> None:
    other = team_catalog(tmp_path / "other", OWN, name="audio")
    assert f"other/environments/{OWN}.yaml:2: id: the catalog 'vision' has this environment too" in told(folder, other)
    team_catalog(other, OWN, name="audio", more=f'overrides: ["{OWN}"]\n')
    origin = loaded(folder, other).origin(OWN)
    assert origin is not None
    assert origin.name == "audio"
    assert f"overrides[0]: no other catalog has '{OWN}' (remove it)" in told(other)


def test_two_catalogs_of_one_name_are_refused(folder: Path, tmp_path: Path) -> None:
    other = team_catalog(tmp_path / "other", "tf-2.15-cpu-other")
    assert "other/catalog.yaml:2: name: another catalog has the name 'vision' too" in told(folder, other)


def test_an_override_without_its_environment_is_refused(folder: Path) -> None:
    team_catalog(folder, more=f'overrides:\n  - "{ROW}"\n')
    assert f"team/catalog.yaml:4: overrides[0]: environments/{ROW}.yaml does not exist" in told(folder)


def test_its_environments_refer_to_its_own_tables_and_to_those_of_envbuilder(folder: Path, tmp_path: Path) -> None:
    put(folder / "bases.yaml", BASE.format(name="team"))
    path = folder / "environments" / f"{OWN}.yaml"
    put(path, row_text().replace('base: "debian-new"', 'base: "debian-team"'))
    catalog = loaded(folder)
    row = catalog.environment(OWN)
    assert row is not None
    assert row.bases[0].system.id == "debian-team"
    other = team_catalog(tmp_path / "other", "tf-2.15-cpu-other", name="other")
    text = row_text("tf-2.15-cpu-other").replace('base: "debian-new"', 'base: "debian-team"')
    put(other / "environments" / "tf-2.15-cpu-other.yaml", text)
    assert "bases[0].base" in told(folder, other)


@pytest.mark.parametrize("name", ["new", "vision"])
def test_a_table_has_no_id_of_another_catalog(folder: Path, tmp_path: Path, name: str) -> None:
    put(folder / "bases.yaml", BASE.format(name="vision"))
    other = team_catalog(tmp_path / "other", "tf-2.15-cpu-other", name="other")
    put(other / "bases.yaml", BASE.format(name=name))
    assert f"other/bases.yaml:3: bases[0].id: 'debian-{name}' is in another catalog too" in told(folder, other)


def test_it_is_checked_by_the_same_rules(folder: Path) -> None:
    path = folder / "environments" / f"{OWN}.yaml"
    put(path, row_text().replace('python: "3.11"', 'python: "3.9"'))
    message = told(folder)
    assert f"team/environments/{OWN}.yaml:17: bases[0].python: there is no wheel for Python 3.9" in message
    put(path, row_text().replace("cutoff:", "cut-off:"))
    assert "cut-off: is not a known field (did you mean cutoff?)" in told(folder)


def test_faults_of_all_catalogs_are_told_together(folder: Path, tmp_path: Path) -> None:
    other = team_catalog(tmp_path / "other", "tf-2.15-cpu-other", name="other")
    for each in (folder, other):
        put(each / "catalog.yaml", "schema: 2\n")
    message = told(folder, other)
    assert "team/catalog.yaml:1: schema: must be 1" in message
    assert "other/catalog.yaml:1: schema: must be 1" in message
    assert "name" in message


@pytest.mark.parametrize("name", ["enviroments/x.yaml", "cuda.yaml", "environments/x.yml", "evidence/reports/x/y.yaml"])
def test_a_file_that_no_loader_reads_is_refused(folder: Path, name: str) -> None:
    put(folder / name, "schema: 1\n")
    assert f"team/{name}: is not a file of a catalog; known: catalog.yaml, advisories.yaml" in told(folder)


def test_hidden_files_and_specs_are_not_environments(folder: Path) -> None:
    for name in (".github/workflows/ci.yaml", ".gitlab-ci.yml", "specs/base.yaml", "specs/deep/other.yml"):
        put(folder / name, "no: [catalog")
    assert loaded(folder).environment(OWN) is not None


def test_evidence_is_required(folder: Path) -> None:
    shutil.rmtree(folder / "evidence")
    assert f"team/evidence/{OWN}.yaml: is missing: each environment has evidence" in told(folder)


def test_the_digest_covers_what_decides_and_not_the_evidence(folder: Path) -> None:
    def digest() -> str:
        origin = loaded(folder).origin(OWN)
        assert origin is not None
        return origin.digest

    first = digest()
    path = folder / "evidence" / f"{OWN}.yaml"
    put(path, path.read_text(encoding="utf-8").replace("a table", "another table"))
    assert digest() == first
    put(folder / "specs" / "base.yaml", "packages: []\n")
    second = digest()
    assert second != first
    path = folder / "environments" / f"{OWN}.yaml"
    put(path, path.read_text(encoding="utf-8").replace("for CPUs", "for all"))
    assert digest() not in {first, second}

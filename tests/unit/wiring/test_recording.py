"""Evidence goes into a checkout or a folder that the user named, never into an installed package."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.load.team_catalogs import load_with_teams
from envbuilder.catalog.references import CatalogPlace
from envbuilder.core.errors import UsageError
from envbuilder.wiring.recording import records_of
from envbuilder.wiring.settings import Settings
from tests.fakes.catalogs import DATA
from tests.fakes.teams import OWN, team_catalog


def loaded(folder: Path, commit: str = "") -> Catalog:
    return load_with_teams(DATA / "catalog", (CatalogPlace(folder=team_catalog(folder), commit=commit),))


def test_the_directory_of_a_team_is_written_to_also_beside_an_installed_package(tmp_path: Path) -> None:
    team = loaded(tmp_path / "team").origin(OWN)
    assert records_of(places_of(tmp_path, packaged=True), team).matrices == tmp_path / "team"


def test_a_commit_of_a_team_is_not_written_to(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the catalog vision, .* is read-only") as caught:
        records_of(places_of(tmp_path, packaged=False), loaded(tmp_path / "team", "a" * 40).origin(OWN))
    assert "ENVBUILDER_CATALOGS=DIR" in caught.value.hint


def places_of(folder: Path, *, packaged: bool) -> Settings:
    return Settings(matrices=folder, templates=folder, cache_path=folder, environ={}, packaged=packaged)


def test_a_folder_of_the_user_is_written_to(tmp_path: Path) -> None:
    assert records_of(places_of(tmp_path, packaged=False)).matrices == tmp_path


def test_the_catalog_of_an_installed_package_is_not(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is read-only") as caught:
        records_of(places_of(tmp_path, packaged=True))
    assert "ENVBUILDER_MATRICES=matrices" in caught.value.hint


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not writable"):
        records_of(places_of(tmp_path / "nowhere", packaged=False))

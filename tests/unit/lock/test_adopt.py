"""The spec for a project follows from its files, the environment that was chosen, and its last change."""

from __future__ import annotations

from datetime import date

from envbuilder.catalog.advise.advice import Query
from envbuilder.catalog.api_names import ApiMap
from envbuilder.lock.adopt import choose_environment, spec_of
from envbuilder.lock.project.conclusions import conclude
from envbuilder.lock.project.reading import read_project
from tests.fakes.catalogs import real_catalog


def test_the_packages_are_those_of_the_last_change_unless_the_environment_is_newer() -> None:
    found = conclude(read_project({"requirements.txt": "tensorflow==2.15.1\nsix\n"}), ApiMap())
    advice = choose_environment(real_catalog(), found, Query()).advice
    assert advice is not None
    assert spec_of(real_catalog(), found, advice, date(2030, 1, 1)).cutoff == date(2030, 1, 1)
    assert spec_of(real_catalog(), found, advice, date(2017, 1, 1)).cutoff is None


def test_markers_are_those_of_the_chosen_python() -> None:
    text = "tensorflow==2.15.1\nfutures; python_version < '3.8'\nsix; python_version >= '3.8'\n"
    found = conclude(read_project({"requirements.txt": text}), ApiMap())
    advice = choose_environment(real_catalog(), found, Query()).advice
    assert advice is not None
    assert spec_of(real_catalog(), found, advice, None).packages == ("six",)

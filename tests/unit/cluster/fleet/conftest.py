"""Fixtures for the tests of fleets."""

from __future__ import annotations

import pytest

from envbuilder.cluster.fleet.fleet_report import FleetReport
from tests.unit.cluster.fleet.fleets import mixed_fleet


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> FleetReport:
    """A report with everything that a report can have, but drift."""
    return mixed_fleet(tmp_path_factory.mktemp("fleet") / "facts")

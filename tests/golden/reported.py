"""Reports whose looks are kept: one that passes, one that fails, one with something required not proven, a fleet's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from envbuilder.cluster.fleet.fleet_report import FleetReport
from envbuilder.cluster.fleet.report.formats import FLEET_FORMATS
from envbuilder.diagnostics.checks.evaluation import run_checks
from envbuilder.diagnostics.checks.results import Report, Tier
from envbuilder.diagnostics.report.registry import SUFFIXES, format_of
from tests.unit.cluster.fleet.fleets import mixed_fleet
from tests.unit.diagnostics.checks.cases import facts_named
from tests.unit.diagnostics.checks.expectations import TF_2_4, TF_2_15_CPU, TF_2_20

_SHOWN = (".html", ".md", ".txt")
_SHOWN_OF_FLEETS = (".html", ".md")


def passing() -> Report:
    facts = facts_named("tf-2.20-cuda-wheels", ("two-a100", "two-a100-work"))
    return run_checks(
        TF_2_20, facts, tier=Tier.GPU, required=Tier.GPU, subject="envbuilder/tf-2.20:latest", seconds=61.04
    )


def failing() -> Report:
    facts = facts_named("tf-2.4-gpu-wheel-no-cuda")
    return run_checks(TF_2_4, facts, tier=Tier.GPU, required=None, subject="registry.example/team/tf:2", seconds=9.1)


def not_proven() -> Report:
    facts = facts_named("tf-2.15-cpu")
    return run_checks(TF_2_15_CPU, facts, tier=Tier.CPU, required=Tier.GPU, subject="facts.json", seconds=14.25)


REPORTED: MappingProxyType[str, Callable[[], Report]] = MappingProxyType(
    {"failing": failing, "not-proven": not_proven, "passing": passing}
)


def report_files() -> dict[str, Callable[[], str]]:
    """What writes each file below `tests/golden`."""
    assert set(_SHOWN) < set(SUFFIXES)
    images = {f"reports/{name}{suffix}": _writer(name, suffix) for name in REPORTED for suffix in _SHOWN}
    return images | {f"reports/fleet{suffix}": _fleet_writer(suffix) for suffix in _SHOWN_OF_FLEETS}


def _fleet_writer(suffix: str) -> Callable[[], str]:
    return lambda: FLEET_FORMATS[suffix](_fleet())


@cache
def _fleet() -> FleetReport:
    """The report about a mixed fleet, as if it had been made in the parent of its directory."""
    with TemporaryDirectory() as name:
        report = mixed_fleet(Path(name, "facts"))
        here = f"{name}/"
    unreadable = tuple(
        replace(each, faults=tuple(replace(fault, file=fault.file.removeprefix(here)) for fault in each.faults))
        for each in report.unreadable
    )
    return replace(report, name=report.name.removeprefix(here), unreadable=unreadable)


def _writer(name: str, suffix: str) -> Callable[[], str]:
    return lambda: format_of(Path(f"{name}{suffix}"))(REPORTED[name]())

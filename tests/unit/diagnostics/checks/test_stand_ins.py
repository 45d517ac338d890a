"""A report names the stand-ins of a proof, and proves nothing about the libraries that they replace."""

from __future__ import annotations

from dataclasses import replace

from envbuilder.diagnostics.checks.evaluation import run_checks, summary
from envbuilder.diagnostics.checks.results import NotProven, Tier
from envbuilder.diagnostics.checks.stand_ins import CHECKS, stand_ins
from envbuilder.diagnostics.checks.table import checks_for
from envbuilder.diagnostics.facts.facts import Driver, DriverInterface, Facts, Library, LibraryLoad, Seen
from envbuilder.diagnostics.probe.decoding import decode
from tests.fakes.catalogs import ROOT
from tests.unit.diagnostics.checks.expectations import TF_2_20

SONAMES = ("libcudart.so.12", "libcudnn.so.9")


def facts_with(*sonames: str, driver: bool) -> Facts:
    path = ROOT / "tests" / "cases" / "facts" / "tf-2.20-cuda-wheels.json"
    facts = decode(path.read_text(encoding="utf-8"), path.name)
    assert isinstance(facts.libraries, Seen)
    load = LibraryLoad(loaded=True, error="", path="/x", via="loader", version=None, stand_in=True)
    libraries = tuple(
        Library(soname=each.soname, load=Seen(value=load, seconds=0.0)) if each.soname in sonames else each
        for each in facts.libraries.value
    )
    interface = DriverInterface(loadable=True, error="", path="/x/libcuda.so.1", stub=driver, stand_in=driver)
    seen = Driver(interface=Seen(value=interface, seconds=0.0), module=None, library=None)
    return replace(facts, libraries=Seen(value=libraries, seconds=0.0), driver=Seen(value=seen, seconds=0.0))


def test_libraries_and_driver_are_named_in_one_line() -> None:
    facts = facts_with(*SONAMES, driver=True)
    assert stand_ins(facts) == ("libcuda.so.1", *SONAMES)
    assert dict(summary(facts))["stand-ins"] == "libcuda.so.1, libcudart.so.12, libcudnn.so.9"


def test_a_report_without_stand_ins_has_no_such_line() -> None:
    facts = facts_with(driver=False)
    assert stand_ins(facts) == ()
    assert "stand-ins" not in dict(summary(facts))


def test_exactly_the_checks_of_the_replaced_libraries_become_unproven() -> None:
    def unproven(facts: Facts) -> set[str]:
        report = run_checks(TF_2_20, facts, tier=Tier.CPU, required=None, subject="image", seconds=1.0)
        return {each.id for each in report.results if isinstance(each.outcome, NotProven)}

    assert unproven(facts_with(*SONAMES, driver=True)) - unproven(facts_with(driver=False)) <= CHECKS
    assert unproven(facts_with(*SONAMES, driver=True)) >= CHECKS


def test_the_named_checks_exist() -> None:
    assert {check.id for check in checks_for(Tier.CPU)} >= CHECKS

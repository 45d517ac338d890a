"""What `validate` names is looked at by the adapter that can, after a warning where GPUs of this host are used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import EnvbuilderError, UsageError
from envbuilder.diagnostics.checks.results import Report, Tier
from envbuilder.image.builder import Engine
from envbuilder.lock.create import lock
from envbuilder.lock.lockfile import dump
from envbuilder.lock.spec import Spec
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import settings
from envbuilder.wiring.validation import ValidationRequest, reports_on
from tests.fakes.catalogs import ROOT, real_catalog
from tests.fakes.engine import FakeEngine
from tests.fakes.ports import lock_ports
from tests.unit.cli.running import CommandLine

FACTS = ROOT / "tests" / "cases" / "facts" / "tf-2.15-cpu.json"
NOTHING = ValidationRequest(
    image="",
    container="",
    python="",
    facts=(),
    engine=Engine.DOCKER,
    runtime=None,
    tier=None,
    required=None,
    devices=(),
    lock=None,
    memory=None,
    timeout=60.0,
)


class Validating:
    """A session whose engine is a fake, and the warnings that it gave."""

    def __init__(self, folder: Path) -> None:
        self.session = Session(settings(), real_catalog(), lambda _: None)
        self.session.__dict__["engine"] = FakeEngine()
        self.warned: list[tuple[str, str]] = []
        self.lock = folder / "some.lock"
        self.lock.write_text(dump(lock(real_catalog(), Spec(environment="tf-2.15-cpu"), lock_ports())))

    def reports(self, asked: ValidationRequest) -> tuple[Report, ...]:
        def warn(environment: str, base: str) -> None:
            self.warned.append((environment, base))

        return reports_on(self.session, asked, lambda file: file.read_text(encoding="utf-8"), warn)


@pytest.fixture
def validating(envbuilder: CommandLine) -> Validating:
    return Validating(envbuilder.folder)


def test_each_file_of_facts_has_a_report(validating: Validating) -> None:
    reports = validating.reports(replace(NOTHING, facts=(FACTS, FACTS), lock=str(validating.lock)))
    assert [report.subject for report in reports] == [str(FACTS)] * 2
    assert {result.id: type(result.outcome).__name__ for result in reports[0].results}["tensorflow-version"] == "Passed"
    assert validating.warned == []


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (NOTHING, "nothing to validate"),
        (replace(NOTHING, image="a", container="b"), "IMAGE cannot be combined with --container or --python"),
        (replace(NOTHING, image="a", facts=(FACTS,)), "IMAGE cannot be combined with --facts"),
        (replace(NOTHING, facts=(FACTS,), tier=Tier.STATIC), "tier static reads the layers of an image"),
        (replace(NOTHING, image="a:1", tier=Tier.STATIC, required=Tier.CPU), "tier static does not run the image"),
    ],
)
def test_what_cannot_be_looked_at_is_refused(validating: Validating, asked: ValidationRequest, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        validating.reports(asked)


@pytest.mark.parametrize(
    ("image", "environment"),
    [("envbuilder/tf-2.15-cpu:latest", "tf-2.15-cpu"), ("tf-2.15-cpu", "tf-2.15-cpu"), ("team/tf:1", "team/tf")],
)
def test_a_look_at_gpus_is_warned_of_before_it(validating: Validating, image: str, environment: str) -> None:
    with pytest.raises(UsageError, match="the engine has no image"):
        validating.reports(replace(NOTHING, image=image, tier=Tier.GPU))
    assert validating.warned == [(environment, "")]


def test_a_lock_says_which_base_is_looked_at(validating: Validating) -> None:
    with pytest.raises(UsageError, match="the engine has no image"):
        validating.reports(replace(NOTHING, image="team/tf:1", required=Tier.GPU, lock=str(validating.lock)))
    [(environment, base)] = validating.warned
    assert (environment, bool(base)) == ("tf-2.15-cpu", True)


def test_a_container_may_run_elsewhere(validating: Validating) -> None:
    with pytest.raises(EnvbuilderError):
        validating.reports(replace(NOTHING, container="gone", tier=Tier.GPU))
    assert validating.warned == []

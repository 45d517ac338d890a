"""An image is judged by the lock that is inside it, or by one that is named."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from envbuilder.core.errors import InvalidInput, ToolFailed, UsageError
from envbuilder.core.memory_policy import parse
from envbuilder.diagnostics.checks.results import Report, Tier
from envbuilder.diagnostics.validate import Validation, validate
from envbuilder.image.embedded_lock import LOCK_IN_IMAGE, lock_inside
from envbuilder.lock.create import lock
from envbuilder.lock.lock import CatalogPin, Lock, PackageGroup, PackagePin
from envbuilder.lock.lockfile import dump
from envbuilder.lock.spec import Spec
from envbuilder.oci.runtime.command import RunResult
from tests.fakes.catalogs import ROOT, real_catalog
from tests.fakes.engine import FAKE_INFO, FakeEngine, fake_image
from tests.fakes.ports import lock_ports

IMAGE = "envbuilder/tf-2.15-cpu:latest"
FACTS = ROOT / "tests" / "cases" / "facts" / "tf-2.15-cpu.json"


def cpu_lock() -> Lock:
    """A lock of the CPU row whose only package is one that the recorded image has."""
    made = lock(real_catalog(), Spec(environment="tf-2.15-cpu"), lock_ports())
    pin = next(pin for pin in made.packages if pin.group is PackageGroup.FRAMEWORK)
    return replace(made, packages=(pin,))


def said(content: bytes, status: int = 0) -> RunResult:
    return RunResult(status=status, stdout=content, stderr=b"", timed_out=False)


def engine_with(*results: RunResult, gpus: bool = False) -> FakeEngine:
    return FakeEngine(images={IMAGE: fake_image("tf")}, results=results, info=replace(FAKE_INFO, gpus=gpus))


def judged(engine: FakeEngine, wanted: Validation, named: Lock | None = None) -> Report:
    ticks = itertools.count(10.0, 2.5)
    return validate(real_catalog(), wanted, named, engine, lambda: next(ticks))


def test_the_lock_inside_the_image_says_what_it_must_be() -> None:
    engine = engine_with(said(dump(cpu_lock()).encode()), said(FACTS.read_bytes()))
    report = judged(engine, Validation(image=IMAGE))
    assert report.environment == "tf-2.15-cpu"
    assert report.tier is Tier.CPU
    assert report.seconds == 2.5
    assert engine.runs[0].command == ("/bin/cat", LOCK_IN_IMAGE)
    assert not engine.runs[1].gpus
    assert engine.runs[1].network == "none"


def test_an_image_of_a_catalog_that_was_not_read_names_the_catalog() -> None:
    pin = CatalogPin(name="vision", digest="sha256:" + "0" * 64, commit="c" * 40)
    of_team = replace(cpu_lock(), environment="tf-2.15-cpu-vision", catalog=pin)
    with pytest.raises(UsageError, match="is an environment of the catalog vision") as refused:
        judged(engine_with(said(dump(of_team).encode())), Validation(image=IMAGE))
    assert f"git+URL@{'c' * 40}" in refused.value.hint


def test_a_named_lock_is_used_instead_and_what_it_asks_for_more_is_a_finding() -> None:
    named = cpu_lock()
    extra = PackagePin(name="nowhere", version="1", file="nowhere-1.whl", sha256="0" * 64, group=PackageGroup.OWN)
    named = replace(named, packages=(*named.packages, extra))
    engine = engine_with(said(FACTS.read_bytes()))
    report = judged(engine, Validation(image=IMAGE), named)
    assert len(engine.runs) == 1
    assert "distributions-present" in {result.id for result in report.failed}


def test_with_gpus_the_probe_gets_them_unless_the_cpu_tier_is_asked_for() -> None:
    named = cpu_lock()
    engine = engine_with(said(FACTS.read_bytes()), said(FACTS.read_bytes()), gpus=True)
    judged(engine, Validation(image=IMAGE), named)
    judged(engine, Validation(image=IMAGE, tier=Tier.CPU), named)
    assert [run.gpus for run in engine.runs] == [True, False]


def test_an_image_that_the_engine_does_not_have_is_told() -> None:
    with pytest.raises(UsageError, match="has no image gone:1"):
        judged(engine_with(), Validation(image="gone:1"))


def test_an_image_without_a_lock_is_told() -> None:
    with pytest.raises(UsageError, match="does not contain its lock") as caught:
        lock_inside(engine_with(), IMAGE)
    assert "--lock FILE" in caught.value.hint


def test_a_lock_of_another_version_in_the_image_is_told_with_what_to_do() -> None:
    with pytest.raises(InvalidInput) as caught:
        lock_inside(engine_with(said(b"schema: 9\n")), IMAGE)
    assert "--lock FILE" in caught.value.hint
    assert caught.value.faults[0].file == f"{IMAGE}:{LOCK_IN_IMAGE}"


def test_a_probe_that_gives_no_answer_is_a_failure_and_no_finding() -> None:
    with pytest.raises(ToolFailed):
        judged(engine_with(said(b"", status=127)), Validation(image=IMAGE), cpu_lock())


def test_another_memory_policy_is_given_to_the_container_and_expected_of_it() -> None:
    engine = engine_with(said(FACTS.read_bytes()))
    report = judged(engine, Validation(image=IMAGE, memory=parse("limit:4096MiB")), cpu_lock())
    assert engine.runs[0].env == (("ENVBUILDER_MEMORY", "limit:4GiB"),)
    assert "memory-policy-applied" in {result.id for result in report.results}


def test_a_policy_for_an_image_from_before_the_hook_is_refused() -> None:
    engine = engine_with(said(FACTS.read_bytes()))
    with pytest.raises(UsageError, match="does not support memory policies"):
        judged(engine, Validation(image=IMAGE, memory=parse("growth")), replace(cpu_lock(), tools=()))
    assert not engine.runs

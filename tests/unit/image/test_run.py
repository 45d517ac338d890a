"""A command in an image: which GPUs and which memory policy it gets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envbuilder.core.errors import UsageError
from envbuilder.core.memory_policy import VARIABLE, parse
from envbuilder.image.plan.layers import LABEL_MEMORY
from envbuilder.image.run import prepare
from envbuilder.lock.lockfile import dump
from envbuilder.oci.runtime.command import RunRequest, RunResult
from tests.fakes.engine import FAKE_INFO, FakeEngine, fake_image
from tests.unit.diagnostics.test_validate import cpu_lock

IMAGE = "envbuilder/tf-2.15-cpu:latest"
REQUEST = RunRequest(image=IMAGE, command=("python", "train.py"))


def engine(*results: RunResult, gpus: bool = False, labels: tuple[tuple[str, str], ...] = ()) -> FakeEngine:
    image = replace(fake_image("tf"), labels=labels)
    return FakeEngine(images={IMAGE: image}, results=results, info=replace(FAKE_INFO, gpus=gpus))


def shown(text: str) -> RunResult:
    return RunResult(status=0, stdout=text.encode(), stderr=b"", timed_out=False)


def test_gpus_are_given_when_there_are_any_and_nobody_said_otherwise() -> None:
    assert prepare(engine(gpus=True), REQUEST, None, gpus=None).request.gpus
    assert not prepare(engine(gpus=False), REQUEST, None, gpus=None).request.gpus
    assert not prepare(engine(gpus=True), REQUEST, None, gpus=False).request.gpus
    assert prepare(engine(gpus=False), REQUEST, None, gpus=True).request.gpus
    assert prepare(engine(), replace(REQUEST, devices=("nvidia.com/gpu=0",)), None, gpus=None).request.gpus


def test_a_policy_goes_into_the_environment_of_the_command() -> None:
    prepared = prepare(
        engine(shown(dump(cpu_lock()))), replace(REQUEST, env=(("B", "1"),)), parse("limit:4GiB"), gpus=None
    )
    assert prepared.request.env == (("B", "1"), (VARIABLE, "limit:4GiB"))
    assert prepared.memory == "limit:4GiB (--memory)"


def test_a_policy_is_refused_for_an_image_that_would_not_obey_it() -> None:
    without = replace(cpu_lock(), tools=())
    with pytest.raises(UsageError, match="does not support memory policies"):
        prepare(engine(shown(dump(without))), REQUEST, parse("growth"), gpus=None)


def test_the_policy_that_will_hold_is_told_and_where_it_comes_from() -> None:
    of_image = engine(labels=((LABEL_MEMORY, "growth"),))
    assert prepare(of_image, REQUEST, None, gpus=None).memory == "growth (of the image)"
    given = replace(REQUEST, env=((VARIABLE, "all"),))
    assert prepare(of_image, given, None, gpus=None).memory == f"all ({VARIABLE})"
    assert prepare(engine(), REQUEST, None, gpus=None).memory == ""


def test_an_image_that_is_not_there_is_an_error_of_usage() -> None:
    with pytest.raises(UsageError, match="image not found: nowhere"):
        prepare(engine(), replace(REQUEST, image="nowhere"), None, gpus=None)

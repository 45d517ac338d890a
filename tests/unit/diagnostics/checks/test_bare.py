"""A bare environment of a host is judged by the packages alone: what an image adds is not asked for."""

from __future__ import annotations

from dataclasses import replace

from envbuilder.catalog.expectation import Expectation
from envbuilder.core.versions import Release
from envbuilder.diagnostics.checks.evaluation import run_bare_checks
from envbuilder.diagnostics.checks.expectation import expect_bare
from envbuilder.diagnostics.checks.results import NotProven, Report, Tier
from envbuilder.diagnostics.checks.table import bare_checks, checks_for
from envbuilder.diagnostics.facts.facts import Facts, Unseen
from envbuilder.lock.closures import Closure
from tests.fakes.catalogs import small_row
from tests.fakes.resolver import chosen
from tests.unit.diagnostics.checks.cases import facts_named
from tests.unit.diagnostics.checks.expectations import TF_2_4, TF_2_15_CPU
from tests.unit.diagnostics.checks.test_expectation import ROW, TABLES

WITH_HOOK = {"memory-policy-applied"}
CUDA_ONLY = {
    "cudnn-starts",
    "cuda-libraries-load",
    "cuda-runtime-version",
    "cudnn-version",
    "tensorflow-cuda-libraries",
}


def judged(expectation: Expectation, facts: Facts) -> Report:
    return run_bare_checks(expectation, facts, subject="here", seconds=2.0)


def test_the_checks_of_a_bare_environment_are_those_of_a_cpu_that_need_no_cuda_libraries() -> None:
    checks = bare_checks()
    assert {check.id for check in checks_for(Tier.CPU)} - {check.id for check in checks} == CUDA_ONLY | WITH_HOOK
    assert [check for check in checks_for(Tier.CPU) if check in checks] == list(checks)


def test_packages_that_work_pass_and_the_report_says_what_that_does_not_cover() -> None:
    made = judged(TF_2_15_CPU, facts_named("tf-2.15-cpu"))
    assert made.passed
    assert (made.tier, made.required, made.subject, made.seconds) == (Tier.CPU, Tier.CPU, "here", 2.0)
    assert "bare environment" in made.not_covered[0]
    assert dict(made.facts)["TensorFlow"] == "2.15.1"


def test_a_gpu_wheel_without_cuda_libraries_is_good_on_a_cpu() -> None:
    facts = facts_named("tf-2.4-gpu-wheel-no-cuda")
    expectation = replace(TF_2_4, python=Release("3.8"))
    assert not [f"{each.id}: {each.outcome}" for each in judged(expectation, facts).failed]


def test_a_gpu_wheel_that_is_linked_against_cuda_is_not() -> None:
    made = judged(replace(TF_2_4, environment="tf-1.4-cuda8.0"), facts_named("tf-1.4-gpu-wheel-no-cuda"))
    assert "tensorflow-imports" in {result.id for result in made.failed}


def test_what_could_not_be_seen_fails() -> None:
    unseen = Unseen(kind="Timeout", message="it took too long")
    made = judged(TF_2_15_CPU, replace(facts_named("tf-2.15-cpu"), machine=unseen))
    assert [result.id for result in made.failed] == ["cpu-avx"]
    assert isinstance(made.failed[0].outcome, NotProven)
    assert not made.passed


def test_a_row_and_its_closure_make_the_expectation() -> None:
    row = small_row("tf-2.15-cpu")
    packages = (chosen("tensorflow-cpu", "2.15.1"), chosen("absl-py", "2.1.0"))
    closure = Closure(python=Release("3.11"), answers=(), packages=packages, build=(chosen("wheel", "0.40"),))
    assert expect_bare(row, closure, TABLES) == replace(
        TF_2_15_CPU, distributions=(("absl-py", "2.1.0"), ("tensorflow-cpu", "2.15.1"))
    )


def test_a_gpu_row_expects_the_cuda_that_its_wheel_was_built_with() -> None:
    closure = Closure(python=Release("3.11"), answers=(), packages=(), build=())
    expectation = expect_bare(ROW, closure, TABLES)
    assert ROW.cuda is not None
    assert expectation.cuda is not None
    assert (expectation.cuda.need.compiled, expectation.cuda.release) == (ROW.cuda.compiled, ROW.cuda.compiled)
    assert expectation.cuda.cudnn_release == ROW.cuda.cudnn.compiled
    assert expectation.cuda.need is ROW.cuda
    assert expectation.deviations == ()

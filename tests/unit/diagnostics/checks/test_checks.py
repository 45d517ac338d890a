from __future__ import annotations

import pytest

from envbuilder.diagnostics.checks.check import WITH_GPU
from envbuilder.diagnostics.checks.evaluation import run_checks
from envbuilder.diagnostics.checks.results import Failed, NotProven, Passed, Tier
from envbuilder.diagnostics.checks.table import CHECKS
from envbuilder.diagnostics.report.summary import outcome_kind
from tests.unit.diagnostics.checks.cases import CASES, ROOT, Case, facts_named
from tests.unit.diagnostics.checks.expectations import EXPECTATIONS, TF_1_4, TF_2_4, TF_2_15_CPU, TF_2_20

BY_ID = {check.id: check for check in CHECKS}
HEALTHY = "tf-2.20-cuda-wheels"
WITH_HOOK = {"memory-policy-applied"}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_check_says_what_the_case_expects(case: Case) -> None:
    report = run_checks(case.expectation, case.facts, tier=Tier.GPU, required=None, subject="case", seconds=0)
    result = {each.id: each for each in report.results}[case.check]

    assert outcome_kind(result).value == case.expect, result.outcome
    assert case.says in words(result.outcome)
    assert (case.expect == "failed") is case.catches, "catches-* must fail, passes-* must not"


def words(outcome: Passed | Failed | NotProven) -> str:
    match outcome:
        case Passed(seen=seen):
            return seen
        case Failed(finding=finding):
            assert finding.remedy.strip(), "a failure without a remedy"
            return f"{finding.message}\n{finding.remedy}"
        case NotProven(reason=reason):
            return reason


@pytest.mark.parametrize("check", CHECKS, ids=[check.id for check in CHECKS])
def test_every_check_has_a_case_that_it_catches_and_a_near_miss(check: object) -> None:
    assert check in CHECKS
    name = getattr(check, "id", "")
    assert {case.catches for case in CASES if case.check == name} == {True, False}


def test_every_folder_of_cases_belongs_to_a_check() -> None:
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"facts", "logs", "patches"}
    assert folders == set(BY_ID)


def test_ids_are_unique_and_kebab_case() -> None:
    assert len(BY_ID) == len(CHECKS)
    assert all(name == name.lower() and "_" not in name and " " not in name for name in BY_ID)


@pytest.mark.parametrize("expectation", EXPECTATIONS.values(), ids=EXPECTATIONS)
def test_a_gpu_check_applies_to_every_environment_whose_release_has_what_it_looks_at(expectation: object) -> None:
    environment = next(each for each in EXPECTATIONS.values() if each is expectation)
    old = environment.framework_version.major == 1
    lacking = {"gpu-function-equals-eager", "gpu-xla"} if old else set()
    left_out = {check.id for check in CHECKS if check.tiers == WITH_GPU and not check.applies(environment)}
    assert left_out == lacking


@pytest.mark.parametrize("check", [check for check in CHECKS if check.tiers == WITH_GPU], ids=lambda check: check.id)
@pytest.mark.parametrize("base", ["tf-2.20-cuda-wheels", "tf-2.15-cpu", "tf-1.4-gpu-wheel-no-cuda", "tf-1.4-cpu"])
def test_no_gpu_check_passes_without_a_gpu(check: object, base: str) -> None:
    facts = facts_named(base)
    for expectation in EXPECTATIONS.values():
        outcome = next(each for each in CHECKS if each is check).examine(expectation, facts)
        assert not isinstance(outcome, Passed)


def test_what_a_check_found_has_the_id_of_the_check() -> None:
    facts = facts_named("tf-2.4-gpu-wheel-no-cuda")
    report = run_checks(TF_2_4, facts, tier=Tier.CPU, required=Tier.CPU, subject="image", seconds=1)
    found = {result.id: result.outcome.finding.id for result in report.results if isinstance(result.outcome, Failed)}
    assert found
    assert all(name == check for check, name in found.items())


def test_the_healthy_cpu_facts_pass_the_cpu_tier() -> None:
    facts = facts_named(HEALTHY)
    report = run_checks(TF_2_20, facts, tier=Tier.CPU, required=Tier.CPU, subject="image", seconds=1)

    assert report.passed, report.failed
    assert len(report.results) == 15
    assert report.deviations == TF_2_20.deviations


def test_the_same_facts_fail_the_gpu_tier() -> None:
    report = run_checks(TF_2_20, facts_named(HEALTHY), tier=Tier.GPU, required=Tier.GPU, subject="image", seconds=1)

    assert {"driver-present", "gpu-visible-to-tensorflow", "gpu-matmul-on-gpu"} <= {each.id for each in report.failed}


def test_with_gpus_the_gpu_tier_passes() -> None:
    facts = facts_named(HEALTHY, ("two-a100", "two-a100-work"))
    report = run_checks(TF_2_20, facts, tier=Tier.GPU, required=Tier.GPU, subject="image", seconds=1)

    assert report.passed, report.failed
    assert len(report.results) == len(CHECKS) - len(WITH_HOOK)
    assert ("GPU 1", "NVIDIA A100-SXM4-40GB, compute capability 8.0") in report.facts


def test_a_tier_that_was_required_and_not_reached_is_not_proven() -> None:
    report = run_checks(TF_2_20, facts_named(HEALTHY), tier=Tier.CPU, required=Tier.GPU, subject="image", seconds=1)
    left_out = {each.id: each.outcome for each in report.failed}

    assert left_out["gpu-matmul-on-gpu"] == NotProven(reason="the validation was limited to tier cpu")
    assert len(report.results) == len(CHECKS) - len(WITH_HOOK)


def test_after_a_failed_import_only_the_import_is_failed() -> None:
    facts = facts_named("tf-2.4-cpu-protobuf-4")
    report = run_checks(EXPECTATIONS["tf-2.4-cpu"], facts, tier=Tier.CPU, required=None, subject="image", seconds=1)
    reasons = {each.id: each.outcome for each in report.results if isinstance(each.outcome, NotProven)}

    assert [each.id for each in report.failed] == ["tensorflow-imports"]
    assert {outcome.reason for outcome in reasons.values()} == {"TensorFlow did not import"}
    assert set(reasons) == {
        "tensorflow-version",
        "tensorflow-built-with-cuda",
        "training-loss-falls",
        "save-load-equal",
    }


def test_checks_without_a_meaning_are_not_in_the_report() -> None:
    cpu = run_checks(TF_2_15_CPU, facts_named("tf-2.15-cpu"), tier=Tier.CPU, required=Tier.CPU, subject="x", seconds=1)
    linked = run_checks(
        TF_1_4, facts_named("tf-1.4-gpu-wheel-no-cuda"), tier=Tier.CPU, required=None, subject="x", seconds=1
    )

    assert cpu.passed
    assert not {"cuda-libraries-load", "cudnn-version"} & {each.id for each in cpu.results}
    assert "tensorflow-cuda-libraries" not in {each.id for each in linked.results}


def test_every_missing_library_is_named_at_once() -> None:
    outcome = BY_ID["cuda-libraries-load"].examine(TF_2_4, facts_named("tf-2.4-gpu-wheel-no-cuda"))

    assert TF_2_4.cuda
    assert isinstance(outcome, Failed)
    assert all(soname in outcome.finding.message for soname in TF_2_4.cuda.sonames)


def test_with_one_gpu_several_are_told_as_not_covered_and_a_required_gpu_tier_does_not_fail_for_it() -> None:
    alone = {"devices": 1, "shm": 67108864, "how": "", "expected": None, "replicas": []}
    change = {"facts": {"tensorflow-gpu-all-reduce": {"ok": True, "seconds": 1.0, "value": alone}}}
    facts = facts_named(HEALTHY, ("two-a100", "two-a100-work"), change)
    report = run_checks(TF_2_20, facts, tier=Tier.GPU, required=Tier.GPU, subject="one GPU", seconds=0)

    assert "gpu-all-reduce" not in {each.id for each in report.results}
    assert any("several GPUs" in line for line in report.not_covered)

"""The product's own signatures find what they must and nothing else, and the project's own cases are diagnosed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envbuilder.diagnostics.logs.signatures import Role, Signature, load_failures
from tests.fakes.catalogs import MATRICES, ROOT, real_catalog
from tools.diagnose_cases import cases, run

FAILURES = load_failures(MATRICES)
CASES = cases(ROOT / "tests" / "cases" / "logs")
SIGNATURES = [pytest.param(each, id=each.id) for each in FAILURES.signatures]
PLACES = re.compile(r"\{(\w+)\}")
CLASSES = [
    "driver-too-old",
    "driver-library-mismatch",
    "rocm-build",
    "native-crash",
    "no-driver-or-gpu-not-passed",
    "container-toolkit-missing",
    "cuda-soname-missing",
    "cudnn-missing",
    "cudnn-version-mismatch",
    "cudnn-init-failed",
    "cuda-unknown-error",
    "visible-devices-mistake",
    "gpu-arch-unsupported",
    "ptx-jit",
    "gpu-ignored",
    "fork-after-cuda-init",
    "oom-batch-too-large",
    "oom-other-process",
    "oom-preallocation",
    "oom-fragmentation",
    "host-oom",
    "corrupt-nv-cache",
    "shm-or-nccl",
    "keras-tf-mismatch",
    "protobuf-mismatch",
    "numpy-abi",
    "h5py-decode",
    "setuptools-pkg-resources",
    "mixed-install",
    "xla-libdevice-ptxas",
    "glibc-too-old",
    "static-tls",
    "cpu-no-avx",
    "wrong-python-version",
    "wsl",
    "hardware-fault",
    "user-code",
    "harmless-noise",
    "harmless-cpu-only",
]


def test_the_classes_are_those_that_were_promised() -> None:
    assert {failure.id for failure in FAILURES.classes} == set(CLASSES)


@pytest.mark.parametrize("name", [name for name in CLASSES if name != "harmless-noise"])
def test_a_class_has_a_signature_and_a_case(name: str) -> None:
    assert any(signature.failure == name for signature in FAILURES.signatures)
    assert any(case.failure == name for case in CASES)


@pytest.mark.parametrize("signature", SIGNATURES)
def test_a_signature_finds_its_examples_and_not_its_near_misses(signature: Signature) -> None:
    assert signature.examples
    assert signature.near_misses
    assert all(re.search(signature.pattern, example) for example in signature.examples)
    assert not any(re.search(signature.pattern, near) for near in signature.near_misses)


@pytest.mark.parametrize("signature", SIGNATURES)
def test_the_words_of_a_signature_name_only_what_it_captures(signature: Signature) -> None:
    groups = set(re.compile(signature.pattern).groupindex)
    words = " ".join((signature.cause, signature.fix, *signature.commands))
    assert set(PLACES.findall(words)) <= groups


def test_noise_says_why_it_means_nothing() -> None:
    assert all(each.cause for each in FAILURES.signatures if each.role is Role.NOISE)


def test_the_projects_own_cases_are_diagnosed() -> None:
    outcomes = run(real_catalog(), FAILURES, [case for case in CASES if case.failure in CLASSES])
    harmless = {failure.id for failure in FAILURES.classes if failure.harmless}
    wrong = [(each.case.id, each.case.failure, each.found) for each in outcomes if not each.right]
    assert len(wrong) <= 0.05 * len(outcomes), wrong
    assert not [each for each in wrong if each[1] in harmless and each[2] not in harmless]


def test_a_case_says_what_it_is() -> None:
    for file in sorted(Path(ROOT / "tests" / "cases" / "logs").glob("*.yaml")):
        text = file.read_text(encoding="utf-8")
        assert all(re.search(rf"^{field}:", text, re.MULTILINE) for field in ("id", "class", "source", "log", "fix"))

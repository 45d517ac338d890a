"""Which GPU gets what: every documented case, and each part that can spoil it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envbuilder.catalog.coverage import GpuSupport, Part, support
from envbuilder.catalog.cuda import Coverage, CudaFacts, CudnnNeed, CudnnRule, KernelFamily
from envbuilder.catalog.environments import BaseChoice, Environment
from envbuilder.catalog.load.tables import read_cuda
from envbuilder.core.versions import Release
from tests.fakes.catalogs import MATRICES, small_row

FACTS: CudaFacts = read_cuda((MATRICES / "cuda.yaml").read_text(encoding="utf-8"), "cuda.yaml")

OLD = "cuda 3.5 3.7 5.2 6.0 6.1 7.0 / 3.5 3.7 5.2 6.0 6.1 7.0"
MIDDLE = "cuda 3.5 5.0 6.0 7.0 7.5 8.0 / 8.0"
LATE = "cuda 6.0 7.0 8.0 8.9 9.0 / 9.0 @8.3"

# Wheel: CUDA, cuDNN, GPU code ("family machine / PTX @ISA", `a` for PTX bound to its architecture), what each
# architecture gets; `*` where the CUDA libraries are older than the GPU.
# Source: code read from the wheels and derived by hand, 2026-11-20. Next one: measure the wheel, then derive its line.
WHEELS = {
    "1.4.1": (
        ("8.0", "6.0.21", "cuda 3.5 3.7 5.2 6.0 6.1 / 3.5 3.7 5.2 6.0 6.1"),
        "code code jit code code code jit* jit* jit* jit* jit* jit* jit* jit*",
    ),
    "1.12.0": (("9.0", "7.1.4", OLD), "code code jit code code code code code* jit* jit* jit* jit* jit* jit*"),
    "1.12.3": (
        ("9.0", "7.1.4", "cuda 3.7 / 3.7"),
        "- code jit jit jit jit jit jit* jit* jit* jit* jit* jit* jit*",
    ),
    "1.15.5": (("10.0", "7.6.0", OLD), "code code jit code code code code code jit* jit* jit* jit* jit* jit*"),
    "2.3.4": (
        ("10.1", "7.6.4", "cuda 3.5 3.7 5.2 6.0 6.1 7.0 / 7.0"),
        "code code - code code code code code jit* jit* jit* jit* jit* jit*",
    ),
    "2.4.4": (
        ("11.0", "8.0.4", f"{MIDDLE} @7.0, mlir 3.5 5.0 6.0 7.0 7.5 8.0 /"),
        "code code code code code code code code code code* code* - - -",
    ),
    "2.7.4": (
        ("11.2", "8.1.0", f"{MIDDLE}, mlir 3.5 5.0 6.0 7.0 7.5 8.0 / 8.0"),
        "code code code code code code code code code code code* jit* jit* jit*",
    ),
    "2.11.1": (
        ("11.2", "8.1.0", f"{MIDDLE} @7.2, mlir 3.5 5.0 6.0 7.0 7.5 / 8.0 @7.0"),
        "code code code code code code code code jit jit jit* jit* jit* jit*",
    ),
    "2.14.1": (
        ("11.8", "8.6.0", f"{MIDDLE} @7.8, mlir 3.5 5.0 6.0 7.0 7.5 / 8.0 @7.1"),
        "code code code code code code code code jit jit jit jit jit* jit*",
    ),
    "2.15.1": (
        ("12.2", "8.9.4", "cuda 5.0 6.0 7.0 7.5 8.0 / 8.0 @8.1, mlir 5.0 6.0 7.0 7.5 / 8.0 @7.1"),
        "- - code code code code code code jit jit jit jit jit* jit*",
    ),
    "2.16.2": (
        ("12.3", "8.9.7", "cuda 5.0 6.0 7.0 8.0 9.0 / 9.0 @8.1, mlir 5.0 6.0 7.0 8.0 / 9.0 a @8.0"),
        "- - code code code code code code code code code jit - -",
    ),
    "2.20.0": (
        ("12.5", "9.3.0", f"{LATE}, mlir 6.0 7.0 8.0 8.9 / 9.0 a @8.5"),
        "- - - - code code code code code code code jit - -",
    ),
    "2.21.0": (
        ("12.5", "9.3.0", f"{LATE}, mlir 6.0 7.0 8.0 8.9 / 9.0 @8.5"),
        "- - - - code code code code code code code jit jit* jit*",
    ),
}
MARKS = {Coverage.MACHINE_CODE: "code", Coverage.JIT: "jit", Coverage.NONE: "-"}


def family(text: str) -> KernelFamily:
    """`mlir 6.0 7.0 / 9.0 a @8.5`."""
    code, _, ptx = text.partition("/")
    name, *machine = code.split()
    words = ptx.split()
    isa = next((Release(word[1:]) for word in words if word.startswith("@")), None)
    return KernelFamily(
        name=name,
        machine=tuple(map(Release, machine)),
        ptx=tuple(Release(word) for word in words if word[0].isdigit()),
        forward="a" not in words,
        isa=isa,
    )


def row_with(cuda: str, cudnn: str, code: str) -> tuple[Environment, BaseChoice]:
    """A row whose wheel has this code, on a base with these libraries."""
    row = small_row("tf-2.4-cuda11.0")
    assert row.cuda is not None
    need = replace(
        row.cuda,
        compiled=Release(cuda),
        cudnn=CudnnNeed(compiled=Release(cudnn), rule=CudnnRule.SAME_MAJOR_AT_LEAST),
        code=tuple(map(family, code.split(", "))),
    )
    system = replace(row.bases[0].system, cuda=Release(cuda), cudnn=Release(cudnn))
    choice = replace(row.bases[0], system=system, libraries=None, os_packages=())
    return replace(row, cuda=need, bases=(choice,)), choice


def supports(cuda: str, cudnn: str, code: str) -> dict[str, GpuSupport]:
    found = support(FACTS, *row_with(cuda, cudnn, code))
    return {str(each.architecture.capability): each for each in found}


def of(wheel: str, capability: str) -> GpuSupport:
    return supports(*WHEELS[wheel][0])[capability]


@pytest.mark.parametrize("wheel", WHEELS)
def test_a_wheel_gives_each_gpu_what_was_derived_by_hand(wheel: str) -> None:
    parts, expected = WHEELS[wheel]
    got = [f"{MARKS[gpu.coverage]}{'*' if gpu.doubts else ''}" for gpu in supports(*parts).values()]
    assert got == expected.split()


@pytest.mark.parametrize("wheel", WHEELS)
def test_tensorflows_part_is_what_the_wheel_says_of_itself(wheel: str) -> None:
    row, choice = row_with(*WHEELS[wheel][0])
    assert row.cuda is not None
    order = (Coverage.NONE, Coverage.JIT, Coverage.MACHINE_CODE)
    for gpu in support(FACTS, row, choice):
        own = [reason.coverage for reason in gpu.reasons if reason.part is Part.TENSORFLOW and reason.coverage]
        assert min(own, key=order.index) is row.cuda.coverage(gpu.architecture.capability)


@pytest.mark.parametrize(
    ("wheel", "capability", "family_name", "words"),
    [
        ("1.12.3", "3.5", "cuda", "no code for a GPU this old; the oldest is for 3.7"),
        ("2.3.4", "5.0", "cuda", "no machine code for this GPU, and the oldest PTX is for 7.0"),
        ("2.4.4", "9.0", "mlir", "no machine code for this GPU, and no PTX"),
        (
            "2.20.0",
            "12.0",
            "mlir",
            "no machine code for this GPU, and their PTX for 9.0 is bound to that architecture",
        ),
        ("2.20.0", "9.0", "mlir", "only PTX for 9.0 (version 8.5), which the driver compiles on first use"),
        ("2.3.4", "8.0", "cuda", "only PTX for 7.0 (version not known), which the driver compiles on first use"),
    ],
)
def test_the_reason_names_the_kernels_that_decide(wheel: str, capability: str, family_name: str, words: str) -> None:
    reason = of(wheel, capability).why[0]
    assert (reason.family, reason.text) == (family_name, words)


@pytest.mark.parametrize(
    ("wheel", "capability", "ptx", "whole"),
    [
        ("2.20.0", "9.0", "555.42.02", "555.42.02"),  # PTX 8.5 is of CUDA 12.5
        ("2.16.2", "9.0", "525.60.13", "525.60.13"),  # PTX 8.0 is of CUDA 12.0, the floor of the family
        ("2.15.1", "9.0", "530.30.02", "530.30.02"),  # the newer of 8.1 and 7.1
        ("2.14.1", "9.0", "520.61.05", "520.61.05"),
        ("2.11.1", "8.0", "450.51.05", "450.80.02"),  # the libraries ask for more than the PTX
        ("2.21.0", "12.0", "555.42.02", "570.26"),  # the GPU itself asks for more than the PTX
        ("2.20.0", "8.0", "None", "525.60.13"),  # machine code: nothing is compiled
        ("2.3.4", "8.0", "None", "None"),  # its PTX version was not measured
        ("2.20.0", "12.0", "None", "None"),  # no driver helps
    ],
)
def test_the_driver_starts_the_libraries_knows_the_gpu_and_compiles_the_ptx(
    wheel: str, capability: str, ptx: str, whole: str
) -> None:
    gpu = of(wheel, capability)
    assert (str(gpu.ptx_driver), str(gpu.driver)) == (ptx, whole)


def test_one_family_whose_ptx_version_is_not_known_leaves_the_driver_unknown() -> None:
    gpu = supports("12.2", "8.9.4", "cuda / 8.0 @8.1, mlir / 8.0")["9.0"]
    assert gpu.coverage is Coverage.JIT
    assert gpu.ptx_driver is gpu.driver is None


def test_ptx_of_a_driver_release_without_a_toolkit_needs_the_next_toolkits_driver() -> None:
    assert str(supports("12.8", "9.11.0", "cuda / 9.0 @8.6")["9.0"].ptx_driver) == "570.26"


def test_ptx_that_is_newer_than_the_table_leaves_the_driver_unknown() -> None:
    assert supports("13.0", "9.11.0", "cuda / 9.0 @99.0")["9.0"].driver is None


def test_libraries_that_are_older_than_the_gpu_are_not_proven_rather_than_nothing() -> None:
    gpu = of("2.4.4", "8.6")
    assert gpu.coverage is Coverage.MACHINE_CODE
    assert [doubt.part for doubt in gpu.doubts] == [Part.CUDA]
    assert gpu.doubts[0].text == "not proven: CUDA 11.0 is older than this GPU, which came with CUDA 11.1"


@pytest.mark.parametrize(("cuda", "capability"), [("13.0", "7.0"), ("13.0", "5.0"), ("12.2", "3.7")])
def test_cuda_that_dropped_a_gpu_leaves_it_nothing(cuda: str, capability: str) -> None:
    gpu = supports(cuda, "9.10.2" if cuda == "13.0" else "8.6.0", OLD)[capability]
    assert gpu.coverage is Coverage.NONE
    assert gpu.why[0].part is Part.CUDA
    assert gpu.driver is None


@pytest.mark.parametrize(("cuda", "capability"), [("12.9.1", "7.0"), ("11.8", "3.5"), ("13.0", "7.5")])
def test_cuda_keeps_a_gpu_up_to_the_last_update_of_its_last_release(cuda: str, capability: str) -> None:
    gpu = supports(cuda, "8.6.0" if cuda == "11.8" else "9.10.2", OLD)[capability]
    assert gpu.coverage is Coverage.MACHINE_CODE
    assert not gpu.doubts


@pytest.mark.parametrize(
    ("cudnn", "capability", "coverage"),
    [
        ("8.7.0", "3.5", Coverage.MACHINE_CODE),
        ("8.8.0", "3.5", Coverage.NONE),
        ("9.10.2", "7.0", Coverage.MACHINE_CODE),
        ("9.11.0", "7.0", Coverage.NONE),
        ("9.28.0", "6.1", Coverage.NONE),
        ("9.11.0", "7.5", Coverage.MACHINE_CODE),
    ],
)
def test_cudnn_without_code_for_a_gpu_leaves_it_nothing(cudnn: str, capability: str, coverage: Coverage) -> None:
    gpu = supports("11.8", cudnn, OLD)[capability]
    assert gpu.coverage is coverage
    assert (gpu.why[0].part is Part.CUDNN) == (coverage is Coverage.NONE)


def test_what_cudnn_lacks_is_said_in_words() -> None:
    assert [reason.text for reason in supports("12.5", "9.11.0", LATE)["7.0"].why] == [
        "cuDNN 9.11.0 has code from 7.5 on, so convolutions fail on this GPU"
    ]


def test_cudnn_that_nobody_looked_into_is_not_proven() -> None:
    gpu = supports("8.0", "5.1.10", "cuda 6.1 /")["6.1"]
    assert gpu.coverage is Coverage.MACHINE_CODE
    assert [doubt.text for doubt in gpu.doubts] == [
        "not proven: which GPUs cuDNN 5.1.10 has code for is not known",
    ]


@pytest.mark.parametrize(("cudnn", "doubted"), [("9.3.0", True), ("9.10.2", False)])
def test_cudnn_that_is_older_than_the_gpu_is_not_proven(cudnn: str, doubted: bool) -> None:
    gpu = supports("12.8", cudnn, "cuda / 9.0 @8.3")["12.0"]
    assert gpu.coverage is Coverage.JIT
    assert [doubt.part for doubt in gpu.doubts] == ([Part.CUDNN] if doubted else [])


def test_machine_code_of_cudnn_runs_within_its_major() -> None:
    assert not supports("11.8", "8.5.0", MIDDLE)["8.9"].doubts


def test_a_gpu_that_gets_nothing_has_no_doubts() -> None:
    gpu = of("2.4.4", "10.0")
    assert any(reason.coverage is None for reason in gpu.reasons)
    assert gpu.doubts == ()


def test_a_cpu_row_supports_no_gpu() -> None:
    row = small_row("tf-2.15-cpu")
    assert support(FACTS, row, row.bases[0]) == ()


def test_gpus_of_one_capability_are_one_architecture() -> None:
    found = FACTS.architectures
    capabilities = [each.capability for each in found]
    assert capabilities == sorted(set(capabilities))
    assert [name for each in found for name in each.gpus] == [gpu.name for gpu in FACTS.gpus]


def test_gpus_of_one_capability_agree_on_the_releases_of_cuda() -> None:
    for each in FACTS.architectures:
        models = [gpu for gpu in FACTS.gpus if gpu.capability == each.capability]
        assert {(gpu.generation, gpu.since, gpu.last) for gpu in models} == {(each.generation, each.since, each.last)}

"""What the rows of the catalog derive: cuDNN rules, GPU coverage, drivers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.catalog.cuda import Coverage, CudnnRule, KernelFamily
from envbuilder.core.versions import Release
from tests.fakes.catalogs import real_row, small_catalog, small_row

CAPABILITIES = ("3.5", "3.7", "5.0", "5.2", "6.0", "6.1", "7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0")
WORDS = {"cubin": Coverage.MACHINE_CODE, "JIT": Coverage.JIT, "no": Coverage.NONE, "BROKEN": Coverage.NONE}

# Machine code and PTX of the wheels were measured (cuobjdump, 2026-11-20); these lines were worked out from them by
# hand, architecture by architecture, in the order of CAPABILITIES. Next one: measure the wheel, then derive its line.
DERIVED = {
    "tf-1.4-cuda8.0": "cubin cubin JIT cubin cubin cubin JIT JIT JIT JIT JIT JIT JIT JIT",
    "tf-2.4-cuda11.0": "cubin cubin cubin cubin cubin cubin cubin cubin cubin cubin cubin BROKEN BROKEN BROKEN",
    "tf-2.11-cuda11.2": "cubin cubin cubin cubin cubin cubin cubin cubin JIT JIT JIT JIT JIT JIT",
    "tf-2.15-cuda12.2": "no no cubin cubin cubin cubin cubin cubin JIT JIT JIT JIT JIT JIT",
    "tf-2.20-cuda12.5": "no no no no cubin cubin cubin cubin cubin cubin cubin JIT BROKEN BROKEN",
}


def family(machine: str, ptx: str, *, forward: bool = True) -> KernelFamily:
    return KernelFamily(
        name="cuda",
        machine=tuple(map(Release, machine.split())),
        ptx=tuple(map(Release, ptx.split())),
        forward=forward,
    )


@pytest.mark.parametrize("name", DERIVED)
def test_a_row_covers_what_was_derived_by_hand(name: str) -> None:
    cuda = real_row(name).cuda
    assert cuda is not None
    covered = [cuda.coverage(Release(capability)) for capability in CAPABILITIES]
    assert covered == [WORDS[word] for word in DERIVED[name].split()]


@pytest.mark.parametrize(
    ("kernels", "capability", "coverage"),
    [
        (family("7.0", ""), "7.5", Coverage.MACHINE_CODE),
        (family("7.5", ""), "7.0", Coverage.NONE),
        (family("7.0", ""), "8.0", Coverage.NONE),
        (family("7.0", "7.0"), "8.0", Coverage.JIT),
        (family("", "8.0"), "7.5", Coverage.NONE),
        (family("", "9.0", forward=False), "9.0", Coverage.JIT),
        (family("", "9.0", forward=False), "10.0", Coverage.NONE),
        (family("", ""), "8.0", Coverage.NONE),
    ],
)
def test_machine_code_runs_within_its_major_and_ptx_is_compiled_for_newer_gpus(
    kernels: KernelFamily, capability: str, coverage: Coverage
) -> None:
    assert kernels.coverage(Release(capability)) is coverage


def test_the_worst_family_decides() -> None:
    whole, ptx_only, nothing = family("8.0", ""), family("", "7.0"), family("", "")
    cuda = real_row("tf-2.15-cuda12.2").cuda
    assert cuda is not None
    assert replace(cuda, code=(whole, ptx_only)).coverage(Release("8.0")) is Coverage.JIT
    assert replace(cuda, code=(nothing, whole)).coverage(Release("8.0")) is Coverage.NONE


CUDNN = st.builds("{}.{}.{}".format, st.integers(5, 9), st.integers(0, 9), st.integers(0, 9)).map(Release)


@given(CUDNN)
def test_every_rule_accepts_what_the_wheel_was_compiled_with(compiled: Release) -> None:
    assert all(rule.accepts(compiled, compiled) for rule in CudnnRule)


@given(CUDNN, CUDNN)
def test_the_exact_rule_accepts_no_more_than_the_other(compiled: Release, loaded: Release) -> None:
    if CudnnRule.EXACT_MINOR.accepts(compiled, loaded):
        assert CudnnRule.SAME_MAJOR_AT_LEAST.accepts(compiled, loaded)


@pytest.mark.parametrize(
    ("rule", "compiled", "loaded", "accepted"),
    [
        (CudnnRule.EXACT_MINOR, "6.0.21", "6.0.20", True),
        (CudnnRule.EXACT_MINOR, "6.0.21", "6.1.0", False),
        (CudnnRule.EXACT_MINOR, "7.0.5", "7.6.4", False),
        (CudnnRule.SAME_MAJOR_AT_LEAST, "8.1.0", "8.0.5", False),
        (CudnnRule.SAME_MAJOR_AT_LEAST, "8.1.0", "8.10.0", True),
        (CudnnRule.SAME_MAJOR_AT_LEAST, "8.1.0", "9.1.0", False),
        (CudnnRule.SAME_MAJOR_AT_LEAST, "8.9", "8.9.6", True),
    ],
)
def test_cudnn_is_compared_as_tensorflow_does(rule: CudnnRule, compiled: str, loaded: str, accepted: bool) -> None:
    assert rule.accepts(Release(compiled), Release(loaded)) is accepted


@pytest.mark.parametrize("rule", CudnnRule)
def test_a_rule_says_itself_in_words(rule: CudnnRule) -> None:
    assert rule.describe(Release("8.0.4")).startswith("cuDNN 8.0")


def test_a_cpu_row_needs_no_driver_and_a_gpu_row_that_of_its_libraries() -> None:
    cpu, gpu = small_row("tf-2.15-cpu"), small_row("tf-1.7-cuda9.0")
    assert small_catalog().driver_floor(cpu, cpu.bases[0]) is None
    assert small_catalog().driver_floor(gpu, gpu.bases[0]) == Release("384.81")


def test_the_libraries_of_a_choice_come_from_its_set_before_its_base() -> None:
    image, debian = small_row("tf-2.4-cuda11.0").bases
    assert (str(image.cuda), str(image.cudnn)) == ("11.0.3", "8.0.5")
    assert (str(debian.cuda), str(debian.cudnn)) == ("11.8", "8.6.0")

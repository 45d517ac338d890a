"""Nodes that can run an image: what the judge says, as ranges of drivers."""

from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.catalog.node_requirements import (
    RUNS,
    RUNS_OR_UNPROVEN,
    NodeRequirements,
    describe,
    description_lines,
    document,
    node_requirements,
    nvidia_require,
)
from envbuilder.catalog.verdicts import Stack
from envbuilder.core.errors import UsageError
from envbuilder.core.versions import Release
from tests.fakes.catalogs import real_catalog
from tests.unit.cluster.made_nodes import FACTS, PRODUCTS, STACKS, MadeNode, named_nodes, nodes, requirements_of

CATALOG = real_catalog()


def stack(environment: str, base: str) -> Stack:
    return next(each for each in STACKS if (each.environment, each.base) == (environment, base))


def ranges(found: NodeRequirements, capability: str, product: str = "") -> list[str]:
    return [
        str(each)
        for gpu in found.gpus
        if (str(gpu.capability), gpu.product) == (capability, product)
        for each in gpu.drivers
    ]


# Derived by hand from NVIDIA's tables: the floor of CUDA 12, the driver that compiles PTX 8.2, the last branches.
def test_each_compute_capability_has_its_own_drivers() -> None:
    found = requirements_of(stack("tf-2.15-cuda12.2", "debian-bookworm"))

    assert ranges(found, "7.0") == ["525.60.13 or later, before 581"]
    assert ranges(found, "8.0") == ["525.60.13 or later"]
    assert ranges(found, "9.0") == ["530.30.02 or later"]
    assert [str(each.capability) for each in found.excluded] == ["3.5", "3.7", "10.0", "12.0"]
    assert "dropped this GPU" in found.excluded[0].why
    assert found.needs_avx


def test_each_group_of_gpus_is_a_line_on_a_terminal() -> None:
    assert description_lines(requirements_of(stack("tf-2.15-cuda12.2", "debian-bookworm"))) == (
        "tf-2.15-cuda12.2 runs on x86_64 nodes with AVX and",
        "  GPUs of compute capability 5.0, 5.2, 6.0, 6.1, 7.0 with driver 525.60.13 or later, before 581",
        "  GPUs of compute capability 7.5, 8.0, 8.6, 8.9 with driver 525.60.13 or later",
        "  GPUs of compute capability 9.0 with driver 530.30.02 or later",
    )


def test_a_product_adds_the_drivers_of_forward_compatibility() -> None:
    found = requirements_of(stack("tf-2.12-cuda11.8", "nvidia-cuda-11.8.0-cudnn8"))

    assert ranges(found, "7.0") == ["450.80.02 or later, before 581"]
    assert ranges(found, "7.0", PRODUCTS[0]) == ["450.51 or later, before 581"]
    on_debian = requirements_of(stack("tf-2.15-cuda12.2", "debian-bookworm"))
    assert not any(gpu.product for gpu in on_debian.gpus)


def test_an_unknown_product_is_refused() -> None:
    with pytest.raises(UsageError, match="Voodoo 5"):
        node_requirements(FACTS, STACKS[0], products=("Voodoo 5",))


def test_gpus_that_are_not_proven_are_included_on_request_only() -> None:
    image = stack("tf-2.15-cuda12.2", "debian-bookworm")

    assert not ranges(requirements_of(image), "12.0")
    assert ranges(node_requirements(FACTS, image, accepted=RUNS_OR_UNPROVEN), "12.0") == ["570.26 or later"]


def test_a_cpu_environment_needs_a_processor_only() -> None:
    found = node_requirements(FACTS, stack("tf-2.15-cpu", "debian-bookworm"))

    assert (found.uses_gpu, found.gpus, found.excluded) == (False, (), ())
    assert describe(found) == "tf-2.15-cpu runs on x86_64 nodes with AVX; it needs neither GPU nor driver."
    assert description_lines(found) == (describe(found),)


def test_the_document_holds_what_the_check_in_an_image_reads() -> None:
    written = document(requirements_of(stack("tf-2.15-cuda12.2", "debian-bookworm")))

    assert (written["environment"], written["avx"], written["uses_gpu"]) == ("tf-2.15-cuda12.2", True, True)
    gpus = written["gpus"]
    assert isinstance(gpus, list)
    assert gpus[-1] == {
        "capability": "9.0",
        "product": "",
        "drivers": [{"least": "530.30.02", "before": None}],
        "fits": ["fits-with-jit"],
    }


@given(st.sampled_from([each for each in STACKS if each.need]), st.one_of(nodes, named_nodes))
def test_a_driver_is_in_a_range_exactly_if_the_judge_accepts_the_node(image: Stack, node: MadeNode) -> None:
    included = any(
        str(gpu.capability) == node.capability
        and gpu.product in {"", node.product}
        and any(each.includes(node.release) for each in gpu.drivers)
        for gpu in requirements_of(image).gpus
    )

    assert (included and node.avx) == node.is_accepted(image, RUNS)


def _conditions(alternative: str) -> list[tuple[str, str, Release]]:
    found = [re.fullmatch(r"(arch|driver)(>=|<)([0-9.]+)", word) for word in alternative.split(",")]
    return [(each[1], each[2], Release(each[3])) for each in found if each]


def started(requirement: str, capability: Release, driver: Release) -> bool:
    """Whether NVIDIA's container runtime starts a container with a GPU, by the rules of its `dsl.c`."""
    values = {"arch": capability, "driver": driver}
    return any(
        all(
            values[name] >= bound if comparison == ">=" else values[name] < bound
            for name, comparison, bound in _conditions(alternative)
        )
        for alternative in requirement.split(" ")
    )


@cache
def _with_unproven(image: Stack) -> NodeRequirements:
    return node_requirements(FACTS, image, accepted=RUNS_OR_UNPROVEN)


@given(st.sampled_from([each for each in STACKS if each.need]), nodes)
def test_the_container_runtime_starts_an_image_exactly_where_the_judge_accepts_a_known_gpu(
    image: Stack, node: MadeNode
) -> None:
    found = _with_unproven(image)
    known = {gpu.capability for gpu in found.gpus} | {each.capability for each in found.excluded}
    capability = Release(node.capability)
    if capability in known:
        accepted = node.is_accepted(image, RUNS_OR_UNPROVEN)
        # The runtime knows GPU and driver only.
        assert (started(nvidia_require(found), capability, node.release) and node.avx) == accepted


def test_a_gpu_that_is_newer_than_the_catalog_is_let_through_where_the_newest_known_one_runs() -> None:
    found = _with_unproven(stack("tf-2.15-cuda12.2", "debian-bookworm"))
    assert nvidia_require(found) == (
        "arch>=5.0,arch<7.5,driver>=525.60.13,driver<581 arch>=7.5,arch<9.0,driver>=525.60.13 "
        "arch>=9.0,arch<10.0,driver>=530.30.02 arch>=10.0,driver>=570.26"
    )
    assert started(nvidia_require(found), Release("99.0"), Release("999"))
    without = node_requirements(FACTS, stack("tf-2.4-cuda11.0", "debian-bullseye"))
    assert not started(nvidia_require(without), Release("99.0"), Release("999"))


def test_a_cpu_environment_requires_nothing_of_the_container_runtime() -> None:
    assert nvidia_require(node_requirements(FACTS, stack("tf-2.15-cpu", "debian-bookworm"))) == ""

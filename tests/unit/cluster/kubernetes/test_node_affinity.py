"""Node affinity: the terms admit exactly the nodes that the judge accepts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.catalog.node_requirements import RUNS, node_requirements
from envbuilder.catalog.verdicts import Stack
from envbuilder.cluster.kubernetes.node_affinity import (
    MIG_SLICES,
    DriverLabels,
    LabelCondition,
    Operator,
    Term,
    selector_terms,
)
from tests.unit.cluster.made_nodes import FACTS, STACKS, MadeNode, named_nodes, nodes, requirements_of

_TERMS = {
    (image, labels): selector_terms(requirements_of(image), labels) for image in STACKS for labels in DriverLabels
}


def labels_of(node: MadeNode, labels: DriverLabels) -> dict[str, str]:
    """What GPU feature discovery and node feature discovery write: parts of a release as the driver spells them."""
    major, minor = node.capability.split(".")
    found = {
        "kubernetes.io/arch": "amd64",
        "nvidia.com/gpu.compute.major": major,
        "nvidia.com/gpu.compute.minor": minor,
        "nvidia.com/gpu.product": node.product.replace(" ", "-") or "NVIDIA-Something",
    }
    found |= dict(zip(labels.keys, str(node.release).split("."), strict=True))
    return found | ({"feature.node.kubernetes.io/cpu-cpuid.AVX": "true"} if node.avx else {})


def holds(condition: LabelCondition, labels: dict[str, str]) -> bool:
    """As the scheduler: `Gt` and `Lt` need an integer on both sides."""
    value = labels.get(condition.key)
    match condition.operator:
        case Operator.IN:
            return value in condition.values
        case Operator.GREATER:
            return value is not None and value.isdigit() and int(value) > int(condition.values[0])
        case Operator.LESS:
            return value is not None and value.isdigit() and int(value) < int(condition.values[0])
        case Operator.MISSING:
            return value is None


def admits(terms: tuple[Term, ...], labels: dict[str, str]) -> bool:
    return any(all(holds(condition, labels) for condition in term) for term in terms)


@given(st.sampled_from(STACKS), st.sampled_from(DriverLabels), st.one_of(nodes, named_nodes))
def test_the_terms_admit_exactly_the_nodes_that_the_judge_accepts(
    image: Stack, labels: DriverLabels, node: MadeNode
) -> None:
    admitted = admits(_TERMS[image, labels], labels_of(node, labels))

    assert admitted == node.is_accepted(image, RUNS)


def test_a_driver_of_two_numbers_is_compared_by_them() -> None:
    image = next(each for each in STACKS if each.environment == "tf-2.12-cuda11.8")
    terms = selector_terms(requirements_of(image))
    labels = labels_of(MadeNode(capability="8.6", driver=(455, 23, 0)), DriverLabels.DRIVER)
    major, minor, revision = DriverLabels.DRIVER.keys

    assert admits(terms, labels | {major: "455", minor: "23", revision: ""})
    assert not admits(terms, labels | {major: "455", minor: "22", revision: ""})


@pytest.mark.parametrize("whole", [False, True])
def test_mig_instances_are_excluded_for_several_gpus(whole: bool) -> None:
    image = next(each for each in STACKS if each.environment == "tf-2.15-cuda12.2")
    terms = selector_terms(requirements_of(image), whole_gpus=whole)
    labels = labels_of(MadeNode(capability="8.0", driver=(535, 54, 3)), DriverLabels.DRIVER)

    assert admits(terms, labels)
    assert admits(terms, labels | {MIG_SLICES: "1"}) is not whole


def test_without_a_usable_gpu_no_node_is_admitted() -> None:
    image = next(each for each in STACKS if each.environment == "tf-2.15-cuda12.2")
    terms = selector_terms(node_requirements(FACTS, image, accepted=frozenset()))

    assert not admits(terms, labels_of(MadeNode(capability="8.0", driver=(535, 54, 3)), DriverLabels.DRIVER))


def test_a_condition_is_written_as_in_a_manifest() -> None:
    assert LabelCondition(key="a", operator=Operator.IN, values=("1",)).document == {
        "key": "a",
        "operator": "In",
        "values": ["1"],
    }
    assert LabelCondition(key="a", operator=Operator.MISSING).document == {"key": "a", "operator": "DoesNotExist"}

"""Slurm constraints: what they admit, and the features that they read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.catalog.node_requirements import RUNS
from envbuilder.catalog.verdicts import Stack
from envbuilder.cluster.slurm.constraints import NodeFeatures, feature_names, read_features, slurm_constraint
from envbuilder.core.errors import UsageError
from envbuilder.core.versions import Release
from tests.unit.cluster.made_nodes import STACKS, MadeNode, nodes, requirements_of

_WITH_GPU = {image: requirements_of(image) for image in STACKS if image.need}
_IMAGE = next(each for each in _WITH_GPU if each.environment == "tf-2.15-cuda12.2")


def features(node: MadeNode) -> NodeFeatures:
    return feature_names(Release(node.capability), node.release)


@given(st.sampled_from(list(_WITH_GPU)), st.lists(nodes, min_size=1, max_size=12))
def test_a_constraint_admits_exactly_the_nodes_that_the_judge_accepts(image: Stack, cluster: list[MadeNode]) -> None:
    sound = [node for node in cluster if node.avx]
    accepted = {features(node) for node in sound if node.is_accepted(image, RUNS)}
    if not accepted:
        with pytest.raises(UsageError, match="no node of this cluster"):
            slurm_constraint(_WITH_GPU[image], map(features, sound))
        return

    constraint = slurm_constraint(_WITH_GPU[image], map(features, sound))

    assert set(constraint.split("|")) == {f"({each.capability}&{each.driver})" for each in accepted}


def test_a_branch_counts_only_if_all_its_drivers_run_the_image() -> None:
    found = read_features("cc80,driver525\ncc80,driver535,rack1\ncc90,driver530\ncc70,driver580\ncc70,driver590\n")

    assert slurm_constraint(_WITH_GPU[_IMAGE], found) == "(cc70&driver580)|(cc80&driver535)"


def test_nodes_without_both_features_are_left_out() -> None:
    assert read_features("(null)\ncc80\ndriver535\nrack1,cpu\ncc120,driver570.124.06\n") == (
        NodeFeatures(capability="cc120", driver="driver570.124.06"),
    )


def test_a_cpu_environment_needs_no_constraint() -> None:
    image = next(each for each in STACKS if not each.need)

    assert slurm_constraint(requirements_of(image), ()) == ""

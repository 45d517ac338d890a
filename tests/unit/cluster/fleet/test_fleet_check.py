"""All nodes judged together: groups, verdicts, what to change, what is not proven, drift, constraints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from envbuilder.cluster.fleet.collection import NodeFacts, open_collection
from envbuilder.cluster.fleet.fleet_check import with_constraints
from envbuilder.cluster.fleet.fleet_images import image_of_environment, image_of_lock
from envbuilder.cluster.fleet.fleet_report import FleetReport
from envbuilder.cluster.fleet.node_names import expand_names
from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.machine import host_of
from tests.fakes.catalogs import good_lock, real_catalog, real_row
from tests.fakes.fleets import NodeKind, write_fleet
from tests.fakes.hosts import A100, K80, V100, host_facts
from tests.unit.cluster.fleet.fleets import (
    LOGIN,
    NEW_A100,
    OLD_A100,
    TF_2_15,
    checked,
    fits,
    write_nodes,
)


def test_equal_nodes_are_one_group_and_the_largest_comes_first(tmp_path: Path) -> None:
    other_python = replace(OLD_A100, python="2.7.5")
    nodes = {"b1": OLD_A100, "a1": NEW_A100, "b2": other_python, "login": LOGIN}
    report = checked(write_nodes(tmp_path / "facts", nodes))

    assert [group.nodes for group in report.groups] == [("b1", "b2"), ("a1",), ("login",)]
    assert [group.id for group in report.groups] == ["g1", "g2", "g3"]
    assert report.groups[0].description == "1 x NVIDIA A100-SXM4-40GB (40 GiB), driver 470.57.02"
    assert report.groups[2].description == "no GPU"


def test_the_judge_decides_for_every_node(tmp_path: Path) -> None:
    kinds = {
        f"{driver}-{gpu.name.split()[-1]}": NodeKind(name="", share=1, driver=driver, gpus=(gpu,))
        for driver in ("418.39", "450.80.02", "470.57.02", "525.60.13", "590.44.01")
        for gpu in (A100, V100, K80)
    }
    catalog, names = real_catalog(), (TF_2_15, "tf-1.15-cuda10.0", "tf-2.4-cuda11.0", "tf-2.4-cpu")
    report = checked(write_nodes(tmp_path / "facts", kinds), *names)

    for image in report.images:
        row = real_row(image.image.name)
        for name, kind in kinds.items():
            host = host_of(host_facts(kind.driver, kind.gpus))
            assert fits(image)[name] == image_of_environment(row).judged(catalog.cuda, host).fit.value


def test_a_gpu_image_that_would_run_on_the_processor_does_not_run(tmp_path: Path) -> None:
    report = checked(write_nodes(tmp_path / "facts", {"login": LOGIN}), TF_2_15, "tf-2.15-cpu")

    assert [image.running for image in report.images] == [0, 1]
    assert not report.passed


def test_a_fleet_passes_if_every_image_runs_on_every_node(tmp_path: Path) -> None:
    report = checked(write_nodes(tmp_path / "facts", {"a1": NEW_A100, "a2": NEW_A100}), TF_2_15, "tf-2.15-cpu")

    assert report.passed
    assert report.headline == "PASSED: 2 of 2 nodes run every image"


def test_a_silent_node_is_not_proven_and_the_fleet_does_not_pass(tmp_path: Path) -> None:
    folder = write_nodes(tmp_path / "facts", {"a1": NEW_A100}, expected=("a2",))
    report = checked(folder)

    assert [each.node for each in report.silent] == ["a2"]
    assert not report.passed
    assert report.headline == f"FAILED: 1 of 2 nodes run {TF_2_15}, 1 not proven"
    assert checked(folder, nodes=("a1",)).passed, "only the named nodes are expected"


def test_a_fleet_without_facts_proves_nothing(tmp_path: Path) -> None:
    report = checked(write_nodes(tmp_path / "facts", {}, expected=("a1", "a2")))

    assert report.headline.startswith("NOTHING PROVEN")
    assert not report.passed


def test_a_driver_update_is_what_the_judge_says_of_the_same_machines(tmp_path: Path) -> None:
    old_volta = NodeKind(name="v", share=1, driver="450.80.02", gpus=(V100,))
    nodes = {"b1": OLD_A100, "b2": OLD_A100, "v1": old_volta, "a1": NEW_A100, "login": LOGIN}
    report = checked(write_nodes(tmp_path / "facts", nodes), TF_2_15, "tf-2.4-cuda11.0")
    catalog, first = real_catalog(), report.updates[0]

    assert first.nodes == ("b1", "b2", "v1")
    assert first.drivers == (Release("450.80.02"), Release("470.57.02"))
    assert [(gain.image, gain.nodes) for gain in first.gains] == [(TF_2_15, ("b1", "b2", "v1"))]
    assert first.losses == ()
    image = image_of_environment(real_row(TF_2_15))
    for name in first.nodes:
        host = next(group.host for group in report.groups if name in group.nodes)
        assert not image.runs(image.judged(catalog.cuda, host).fit)
        assert image.runs(image.judged(catalog.cuda, replace(host, driver=first.to, library=None, cuda=None)).fit)


def test_an_update_names_the_images_that_it_stops(tmp_path: Path) -> None:
    kepler = NodeKind(name="k", share=1, driver="418.39", gpus=(K80, A100))
    report = checked(
        write_nodes(tmp_path / "facts", {"k1": replace(kepler, gpus=(K80,)), "b1": OLD_A100}),
        "tf-1.15-cuda10.0", TF_2_15,
    )  # fmt: skip
    lost = {(str(update.to), effect.image, effect.nodes) for update in report.updates for effect in update.losses}

    assert all(update.gains for update in report.updates)
    assert ("525.60.13", "tf-1.15-cuda10.0", ("k1",)) in lost


def test_no_update_is_proposed_where_none_helps(tmp_path: Path) -> None:
    kepler = NodeKind(name="k", share=1, driver="470.256.02", gpus=(K80,))
    assert checked(write_nodes(tmp_path / "facts", {"k1": kepler, "a1": NEW_A100, "login": LOGIN})).updates == ()


def test_findings_of_nodes_are_named_once_with_their_nodes(mixed: FleetReport) -> None:
    found = {each.finding.id: each for each in mixed.findings}

    assert found["no-avx"].nodes == tuple(expand_names("k[001-004]"))
    assert found["clock-differs"].nodes == ("v010", "v011")
    assert "3598 s ahead" in found["clock-differs"].finding.message


def test_differences_since_an_earlier_collection_are_named_with_their_nodes(tmp_path: Path) -> None:
    before = write_nodes(tmp_path / "before", {"a1": OLD_A100, "a2": OLD_A100, "b1": OLD_A100, "gone": LOGIN})
    now = write_nodes(tmp_path / "now", {"a1": NEW_A100, "a2": NEW_A100, "b1": OLD_A100, "new": LOGIN}, ("gone",))
    drift = checked(now, since=before).drift

    assert drift
    assert ("driver", "470.57.02", "550.54.15", ("a1", "a2")) in [
        (each.topic, each.before, each.now, each.nodes) for each in drift.changes
    ]
    assert (drift.new, drift.lost, drift.same) == (("new",), ("gone",), 1)


def test_the_same_collection_has_no_drift(tmp_path: Path) -> None:
    folder = write_nodes(tmp_path / "facts", {"a1": NEW_A100, "login": LOGIN})
    drift = checked(folder, since=folder).drift

    assert drift
    assert (drift.changes, drift.new, drift.lost, drift.same) == ((), (), (), 2)


def test_constraints_admit_the_nodes_that_run_an_image(mixed: FleetReport) -> None:
    for image, constraint in zip(mixed.images, mixed.constraints, strict=True):
        excluded = set(expand_names(constraint.exclude))
        running = {node for each in image.groups if each.runs for node in each.group.nodes}
        every = {node for group in mixed.groups for node in group.nodes}
        assert every - excluded == running

    assert mixed.constraints[0].slurm == "(cc80&driver550.54.15)|(cc90&driver535.104.05)"
    assert mixed.constraints[1].slurm == "", "a CPU environment needs no feature"
    named = {feature for line in mixed.features for feature in line.features}
    assert {"cc80", "driver550.54.15", "cc90", "driver535.104.05"} <= named


def test_an_environment_that_runs_nowhere_has_no_constraint(tmp_path: Path) -> None:
    report = checked(write_nodes(tmp_path / "facts", {"b1": OLD_A100}))
    constraint = with_constraints(report, real_catalog()).constraints[0]

    assert (constraint.slurm, constraint.exclude, constraint.kubernetes) == ("", "b1", ())


def test_the_image_of_a_lock_is_judged_with_its_own_libraries() -> None:
    lock = good_lock()
    image = image_of_lock("envbuilder.lock", real_row(lock.environment), lock)
    (stack,) = image.stacks

    assert (image.name, image.environment, image.is_lock) == ("envbuilder.lock", lock.environment, True)
    assert stack.base == lock.base.id
    assert lock.cuda
    assert stack.cuda == lock.cuda.cuda


def test_made_facts_are_facts(tmp_path: Path) -> None:
    write_fleet(tmp_path / "facts", 100)
    collection = open_collection(tmp_path / "facts")

    assert len(collection.nodes) == 100
    assert all(isinstance(collection.read(node), NodeFacts) for node in collection.nodes)

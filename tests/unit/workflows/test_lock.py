"""Row and spec become a lock, and a lock says when it is stale."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envbuilder.errors import NoUsableBase, ResolutionFailed, UnknownEnvironment, UsageError
from envbuilder.locking.lockfile import dump
from envbuilder.model.locks import MemoryPolicy, PackageGroup, Sources, Spec
from envbuilder.model.versions import Release
from envbuilder.workflows.lock import check, lock
from tests.fakes.catalogs import real_catalog, small_catalog
from tests.fakes.ports import UV, lock_ports
from tests.fakes.resolver import FakeOsResolver, FakeResolver
from tests.fakes.sources import FakeBases, FakePythons

CATALOG = small_catalog()
SPEC = Spec(environment="tf-2.4-cuda11.0")


def test_the_same_spec_gives_the_same_lock() -> None:
    assert dump(lock(CATALOG, SPEC, lock_ports())) == dump(lock(CATALOG, SPEC, lock_ports()))


def test_a_lock_has_base_interpreter_packages_and_tools() -> None:
    made = lock(CATALOG, replace(SPEC, base="debian-new"), lock_ports())
    assert (made.base.id, str(made.python.version), made.tools) == ("debian-new", "3.8.18", (UV,))
    assert [pin.name for pin in made.group(PackageGroup.FRAMEWORK)] == ["tensorflow-gpu"]
    assert [pin.name for pin in made.group(PackageGroup.CUDA)] == ["nvidia-cublas-cu11", "nvidia-cudnn-cu11"]


def test_a_refused_base_is_told_and_recorded() -> None:
    told: list[str] = []
    made = lock(CATALOG, SPEC, lock_ports(bases=FakeBases({"image-11.0": "is gone"}), notice=told.append))
    assert made.base.id == "debian-new"
    assert made.refused == ("image-11.0",)
    assert "not available: image-11.0: is gone" in told


def test_sources_of_the_spec_reach_the_places_that_are_asked() -> None:
    spec = replace(SPEC, sources=Sources(registry_mirror="localhost:5000"))
    assert lock(CATALOG, spec, lock_ports(bases=FakeBases({"image-11.0": "is gone"}))).base.id == "image-11.0"


def test_an_archive_that_is_missing_refuses_its_base_before_the_base_is_looked_for() -> None:
    bases = FakeBases({"image-11.0": "is gone"})
    with pytest.raises(NoUsableBase) as caught:
        lock(CATALOG, SPEC, lock_ports(bases=bases, pythons=FakePythons(["3.8"])))
    assert caught.value.refusals == (("image-11.0", "is gone"), ("debian-new", "no archive of Python 3.8"))
    assert bases.asked == ["image-11.0"]


def test_without_own_packages_the_resolver_is_asked_once() -> None:
    resolver = FakeResolver()
    lock(CATALOG, SPEC, lock_ports(resolver=resolver))
    assert len(resolver.asked) == 1


def test_own_packages_are_resolved_on_top_of_the_row() -> None:
    resolver = FakeResolver(versions={"pandas": "1.4"}, needs={"pandas": ["numpy"], "tensorflow-gpu": ["numpy"]})
    made = lock(CATALOG, replace(SPEC, packages=("pandas",)), lock_ports(resolver=resolver))
    assert [pin.name for pin in made.group(PackageGroup.OWN)] == ["pandas"]
    assert "numpy==1.0" in resolver.asked[1].preferred
    assert made.group(PackageGroup.PACKAGES) == lock(CATALOG, SPEC, lock_ports(resolver=resolver)).group(
        PackageGroup.PACKAGES
    )


def test_source_distributions_bring_their_build_tools() -> None:
    row = Spec(environment="tf-1.7-cuda9.0")
    needs = {"tensorflow-gpu": ["termcolor"]}
    made = lock(CATALOG, row, lock_ports(resolver=FakeResolver(needs=needs)))
    assert [pin.name for pin in made.group(PackageGroup.BUILD)] == ["setuptools", "wheel"]
    assert not lock(CATALOG, row, lock_ports()).group(PackageGroup.BUILD)


def test_what_does_not_go_together_is_no_lock() -> None:
    with pytest.raises(ResolutionFailed):
        lock(CATALOG, replace(SPEC, packages=("odd",)), lock_ports(resolver=FakeResolver(unsolvable=["odd"])))


def test_a_memory_policy_that_cannot_be_had_is_told_before_anything_is_looked_for() -> None:
    bases = FakeBases()
    with pytest.raises(UsageError):
        lock(CATALOG, Spec(environment="tf-1.7-cuda9.0", memory=MemoryPolicy.GROWTH), lock_ports(bases=bases))
    assert not bases.asked


def test_an_unknown_environment_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownEnvironment) as caught:
        lock(CATALOG, Spec(environment="tf-2.4"), lock_ports())
    assert caught.value.nearest[0] == "tf-2.4-cuda11.0"


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        (SPEC, [("image-11.0", ("python3",))]),
        (replace(SPEC, apt=("git",)), [("image-11.0", ("git", "python3"))]),
        (replace(SPEC, base="debian-new"), []),
        (replace(SPEC, base="debian-new", apt=("git",)), [("debian-new", ("git",))]),
        (Spec(environment="tf-1.7-cuda9.0"), [("image-9.0", ("libcudnn7=7.0.5.15-1+cuda9.0",))]),
        (Spec(environment="tf-2.15-cpu"), []),
    ],
)
def test_os_packages_are_those_of_interpreter_row_and_spec(
    spec: Spec, asked: list[tuple[str, tuple[str, ...]]]
) -> None:
    os_resolver = FakeOsResolver()
    lock(CATALOG, spec, lock_ports(os_resolver=os_resolver))
    assert os_resolver.asked == asked


def test_libraries_from_the_os_are_os_packages() -> None:
    os_resolver = FakeOsResolver()
    spec = Spec(environment="tf-2.11-cuda11.2", base="debian-bullseye")
    lock(real_catalog(), spec, lock_ports(os_resolver=os_resolver))
    assert {"libcublas11", "libcudart11.0"} <= set(os_resolver.asked[0][1])


def test_a_lock_is_up_to_date_right_after_it_was_made() -> None:
    for row in CATALOG.environments:
        for choice in row.bases:
            spec = Spec(environment=row.id, base=choice.system.id)
            assert not check(CATALOG, spec, lock(CATALOG, spec, lock_ports()))


def test_a_lock_of_another_python_is_up_to_date_too() -> None:
    spec = replace(SPEC, python=Release("3.7"))
    assert not check(CATALOG, spec, lock(CATALOG, spec, lock_ports()))


def test_a_changed_spec_makes_the_lock_stale_and_is_named() -> None:
    made = lock(CATALOG, SPEC, lock_ports())
    changes = check(CATALOG, replace(SPEC, packages=("six",), apt=("git",)), made)
    assert [str(change) for change in changes] == ["+ spec.apt git", "+ spec.packages six"]


def test_another_environment_makes_the_lock_stale() -> None:
    made = lock(CATALOG, SPEC, lock_ports())
    changed = {change.field for change in check(CATALOG, Spec(environment="tf-2.15-cpu"), made)}
    assert {"spec.environment", "row.tensorflow"} <= changed

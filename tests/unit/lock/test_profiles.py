"""Profiles are resolved beside the exact packages of an image, and change none of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from packaging.version import Version

from envbuilder.core.errors import ResolutionFailed, UsageError
from envbuilder.lock.create import lock
from envbuilder.lock.lock import Lock, PackageGroup
from envbuilder.lock.lockfile import digest, dump, load
from envbuilder.lock.obtain import obtain_with_profile
from envbuilder.lock.profiles import ChosenProfile, chosen_profiles, with_profiles
from envbuilder.lock.spec import Spec
from envbuilder.lock.staleness import staleness
from tests.fakes.catalogs import small_catalog
from tests.fakes.ports import fake_sizes, lock_ports
from tests.fakes.resolver import FakeResolver

CATALOG = small_catalog()
SPEC = Spec(environment="tf-2.4-cuda11.0", base="debian-new", profiles=("jupyter",))
PLAIN = replace(SPEC, profiles=())
JUPYTER = chosen_profiles(CATALOG, ("jupyter",), Version("2.4.4"))


def resolver() -> FakeResolver:
    return FakeResolver(
        versions={"six": "1.15", "ipykernel": "6.1"},
        needs={"tensorflow-gpu": ["six"], "ipykernel": ["six", "tornado"], "pandas": ["six"]},
    )


def made(spec: Spec = SPEC) -> Lock:
    return lock(CATALOG, spec, lock_ports(resolver=resolver()))


def extended(before: Lock, asked: FakeResolver) -> Lock:
    return with_profiles(before, CATALOG, JUPYTER, asked, fake_sizes)


def names(lock: Lock, group: PackageGroup) -> list[str]:
    return [f"{pin.name}=={pin.version}" for pin in lock.group(group)]


def test_what_a_profile_adds_is_a_group_of_its_own_and_the_rest_stays() -> None:
    plain, with_tools = made(PLAIN), made()
    assert names(with_tools, PackageGroup.PROFILE) == ["ipykernel==6.1", "jupyterlab==1.0", "tornado==1.0"]
    assert [pin for pin in with_tools.packages if pin.group is not PackageGroup.PROFILE] == list(plain.packages)
    assert with_tools.profiles == ("jupyter",)


def test_the_packages_of_the_environment_are_given_to_the_resolver_as_they_are() -> None:
    asked = resolver()
    lock(CATALOG, SPEC, lock_ports(resolver=asked))
    request = asked.asked[1]
    assert {"six==1.15", "tensorflow-gpu==2.4.4"} <= set(request.provided)
    assert request.requirements == ("ipykernel", "jupyterlab")
    assert request.constraints == asked.asked[0].constraints
    assert request.cutoff == asked.asked[0].cutoff


def test_the_cut_off_day_of_the_spec_holds_for_profiles() -> None:
    asked = resolver()
    lock(CATALOG, replace(SPEC, cutoff=date(2024, 1, 2)), lock_ports(resolver=asked))
    assert asked.asked[1].cutoff == date(2024, 1, 2)


def test_own_packages_are_resolved_together_with_the_tools_and_keep_them() -> None:
    asked = resolver()
    found = lock(CATALOG, replace(SPEC, packages=("pandas",)), lock_ports(resolver=asked))
    request = asked.asked[2]
    assert {"ipykernel", "jupyterlab", "pandas", "tensorflow-gpu==2.4.4"} <= set(request.requirements)
    assert "ipykernel==6.1" in request.preferred
    assert names(found, PackageGroup.OWN) == ["pandas==1.0"]
    assert "ipykernel==6.1" in names(found, PackageGroup.PROFILE)


def test_a_profile_added_to_a_lock_gives_the_lock_of_a_spec_with_the_profile() -> None:
    assert digest(extended(made(PLAIN), resolver())) == digest(made())


def test_a_profile_added_to_a_lock_keeps_its_own_packages() -> None:
    before = made(replace(PLAIN, packages=("pandas", "tornado==5.0"), cutoff=date(2024, 1, 2)))
    asked = resolver()
    after = extended(before, asked)
    assert [pin for pin in after.packages if pin.group is not PackageGroup.PROFILE] == list(before.packages)
    assert names(after, PackageGroup.PROFILE) == ["ipykernel==6.1", "jupyterlab==1.0"]
    [request] = asked.asked
    assert {"pandas==1.0", "tornado==5.0"} <= set(request.constraints)
    assert request.cutoff == date(2024, 1, 2)
    assert load(dump(after), "envbuilder.lock") == after


def test_a_lock_of_a_base_that_the_catalog_lacks_gets_no_profile() -> None:
    before = made(PLAIN)
    with pytest.raises(UsageError, match="no base gone") as caught:
        extended(replace(before, base=replace(before.base, id="gone")), resolver())
    assert "envbuilder lock" in caught.value.hint


def test_tools_that_do_not_go_with_the_environment_are_named_with_their_profile() -> None:
    ports = lock_ports(resolver=FakeResolver(unsolvable=["jupyterlab"]))
    with pytest.raises(ResolutionFailed, match="the profile jupyter cannot be added") as caught:
        lock(CATALOG, SPEC, ports)
    assert "no version of jupyterlab" in caught.value.message
    assert "remove jupyter from `profiles:`" in caught.value.hint


def test_an_unknown_profile_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="unknown profile 'jupiter'") as caught:
        made(replace(SPEC, profiles=("jupiter",)))
    assert caught.value.hint == "available: jupyter, tensorboard"


def test_a_profile_that_does_not_support_a_release_is_refused() -> None:
    with pytest.raises(UsageError, match=r"tensorboard does not support TensorFlow 1\.7\.1"):
        chosen_profiles(CATALOG, ("tensorboard",), Version("1.7.1"))


def test_a_profile_without_anything_to_add_is_in_the_lock_nevertheless() -> None:
    asked = FakeResolver(versions={"tensorboard": "2.4"}, needs={"tensorflow-gpu": ["tensorboard"]})
    found = lock(CATALOG, replace(SPEC, profiles=("tensorboard",)), lock_ports(resolver=asked))
    assert (found.profiles, found.group(PackageGroup.PROFILE)) == (("tensorboard",), ())


def test_a_lock_is_out_of_date_when_the_profiles_of_its_spec_or_their_packages_change() -> None:
    existing = made()
    assert not staleness(CATALOG, SPEC, existing)
    [gone] = staleness(CATALOG, PLAIN, existing)
    assert str(gone) == "- profiles.jupyter ipykernel, jupyterlab"
    [jupyter, tensorboard] = CATALOG.profiles
    moved = replace(jupyter, packages=(replace(jupyter.packages[0], requirements=("ipykernel<6",)),))
    [change] = staleness(replace(CATALOG, profiles=(moved, tensorboard)), SPEC, existing)
    assert str(change) == "~ profiles.jupyter ipykernel, jupyterlab -> ipykernel<6"


def test_a_lock_with_a_profile_is_kept_for_the_same_lock_and_the_same_packages(tmp_path: Path) -> None:
    before, asked, told = made(PLAIN), resolver(), list[str]()

    def obtain(lock: Lock, profile: ChosenProfile) -> Lock:
        return obtain_with_profile(tmp_path, lock, profile, lambda: extended(lock, asked), told.append)

    [jupyter] = JUPYTER
    first = obtain(before, jupyter)
    assert obtain(replace(before, name="vision"), jupyter) == replace(first, name="vision")
    assert len(asked.asked) == 1
    obtain(before, replace(jupyter, requirements=("ipykernel",)))
    obtain(replace(before, epoch=before.epoch + 1), jupyter)
    assert len(asked.asked) == 3
    assert [line.split()[0] for line in told] == ["wrote", "using", "wrote", "wrote"]

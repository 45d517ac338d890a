"""Row and spec become a lock, and a lock says when it is stale."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from envbuilder.catalog.environments import Catalog, OtherRelease
from envbuilder.catalog.evidence import Grade
from envbuilder.core.errors import NoUsableBase, ResolutionFailed, UnknownEnvironment, UsageError
from envbuilder.core.memory_policy import parse
from envbuilder.core.versions import Release
from envbuilder.curation.prove import prove
from envbuilder.lock.closures import Answer, Chosen, Closure
from envbuilder.lock.create import lock
from envbuilder.lock.diff import compare
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock, PackageGroup
from envbuilder.lock.lockfile import dump, load
from envbuilder.lock.resolve.requests import row_request
from envbuilder.lock.resolve.shipped_closures import ClosureFolder, dump_closures, request_digest
from envbuilder.lock.resolve.uv_resolver import BUILD_TOOLS_CUTOFF
from envbuilder.lock.spec import Spec
from envbuilder.lock.staleness import as_shipped, staleness, upgraded
from tests.fakes.catalogs import real_catalog, small_catalog, small_row
from tests.fakes.ports import HOOK, PROBE, UV, lock_ports
from tests.fakes.proving import world
from tests.fakes.resolver import FakeOsResolver, FakeResolver, chosen
from tests.fakes.sources import FakeBases, FakePythons

CATALOG = small_catalog()
SPEC = Spec(environment="tf-2.4-cuda11.0")


def test_the_same_spec_gives_the_same_lock() -> None:
    assert dump(lock(CATALOG, SPEC, lock_ports())) == dump(lock(CATALOG, SPEC, lock_ports()))


def test_a_lock_has_base_interpreter_packages_and_tools() -> None:
    made = lock(CATALOG, replace(SPEC, base="debian-new"), lock_ports())
    assert (made.base.id, str(made.python.version), made.tools) == ("debian-new", "3.8.18", (HOOK, PROBE, UV))
    assert [pin.name for pin in made.group(PackageGroup.FRAMEWORK)] == ["tensorflow-gpu"]
    assert [pin.name for pin in made.group(PackageGroup.CUDA)] == ["nvidia-cublas-cu11", "nvidia-cudnn-cu11"]


def test_a_refused_base_is_told_and_recorded() -> None:
    told: list[str] = []
    made = lock(CATALOG, SPEC, lock_ports(bases=FakeBases({"image-11.0": "is gone"})), progress=told.append)
    assert made.base.id == "debian-new"
    assert made.refused == ("image-11.0",)
    assert "not available: image-11.0: is gone" in told


def test_base_interpreter_and_os_packages_of_the_lock_before_are_kept_without_looking_for_newer_ones() -> None:
    spec = replace(SPEC, base="debian-new", apt=("git",))
    before = lock(CATALOG, spec, lock_ports())
    before = replace(before, base=replace(before.base, digest=f"sha256:{'0' * 64}"))
    bases, os_packages = FakeBases(), FakeOsResolver()
    ports = replace(lock_ports(bases=bases, os_resolver=os_packages, pythons=FakePythons(["3.8"])), kept=before)
    made = lock(CATALOG, replace(spec, packages=("pandas",)), ports)
    assert (made.base, made.python, made.os_packages) == (before.base, before.python, before.os_packages)
    assert (bases.asked, os_packages.asked) == ([], [])


def test_an_interpreter_archive_that_the_spec_names_comes_before_that_of_the_lock() -> None:
    spec = replace(SPEC, base="debian-new")
    before = lock(CATALOG, spec, lock_ports())
    other = replace(before, python=replace(before.python, sha256="0" * 64))
    named = replace(spec, sources=Sources(python_archives=("python.tar.gz",)))
    assert lock(CATALOG, named, replace(lock_ports(), kept=other)).python == before.python


@pytest.mark.parametrize("change", [{"apt": ("git", "vim")}, {"allow": ("/usr/bin/su",)}, {"base": ""}])
def test_what_decides_the_base_decides_whether_it_is_kept(change: dict[str, Any]) -> None:
    spec = replace(SPEC, base="debian-new", apt=("git",))
    before = lock(CATALOG, spec, lock_ports())
    gone = replace(before.base, digest=f"sha256:{'0' * 64}")
    bases = FakeBases({"image-11.0": "is gone"})
    ports = replace(lock_ports(bases=bases), kept=replace(before, base=gone))
    made = lock(CATALOG, replace(spec, **change), ports)
    assert made.base == before.base
    assert "debian-new" in bases.asked


def test_a_registry_image_that_needs_os_packages_is_refused_without_an_engine_before_any_registry_is_asked() -> None:
    bases = FakeBases()
    made = lock(CATALOG, SPEC, lock_ports(bases=bases, os_resolver=FakeOsResolver(engine=False)))
    assert (made.base.id, made.refused, bases.asked) == ("debian-new", ("image-11.0",), ["debian-new"])


def test_sources_of_the_spec_reach_the_places_that_are_asked() -> None:
    spec = replace(SPEC, sources=Sources(registry_mirror="localhost:5000"))
    assert lock(CATALOG, spec, lock_ports(bases=FakeBases({"image-11.0": "is gone"}))).base.id == "image-11.0"


def test_an_archive_that_is_missing_refuses_its_base_before_the_base_is_looked_for() -> None:
    bases = FakeBases({"image-11.0": "is gone"})
    with pytest.raises(NoUsableBase) as caught:
        lock(CATALOG, SPEC, lock_ports(bases=bases, pythons=FakePythons(["3.8"])))
    assert caught.value.refusals == (("image-11.0", "is gone"), ("debian-new", "no archive of Python 3.8"))
    assert bases.asked == ["image-11.0"]


def test_a_registry_image_that_is_gone_is_told_before_an_archive_is_looked_for() -> None:
    bases = FakeBases({"image-9.0": "is gone"})
    with pytest.raises(NoUsableBase) as caught:
        lock(CATALOG, Spec(environment="tf-1.7-cuda9.0"), lock_ports(bases=bases, pythons=FakePythons(["3.6"])))
    assert caught.value.refusals == (("image-9.0", "is gone"),)


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
        lock(CATALOG, Spec(environment="tf-1.7-cuda9.0", memory=parse("async-allocator")), lock_ports(bases=bases))
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


def test_updates_that_the_archive_does_not_have_are_in_the_lock_whoever_looked_for_them() -> None:
    bases = FakeBases(without=("bookworm-updates",))
    spec = replace(SPEC, base="debian-new")
    assert lock(CATALOG, spec, lock_ports()).base.missing == ()
    assert lock(CATALOG, spec, lock_ports(bases=bases)).base.missing == ("bookworm-updates",)
    os_resolver = FakeOsResolver(missing=("bookworm-security",))
    made = lock(CATALOG, replace(spec, apt=("git",)), lock_ports(bases=bases, os_resolver=os_resolver))
    assert made.base.missing == ("bookworm-security", "bookworm-updates")
    assert [text.partition(":")[0] for text in made.differences][-2:] == ["no bookworm-security", "no bookworm-updates"]


def test_libraries_from_the_os_are_os_packages() -> None:
    os_resolver = FakeOsResolver()
    spec = Spec(environment="tf-2.11-cuda11.2", base="debian-bullseye")
    lock(real_catalog(), spec, lock_ports(os_resolver=os_resolver))
    assert {"libcublas11", "libcudart11.0"} <= set(os_resolver.asked[0][1])


def test_a_lock_is_up_to_date_right_after_it_was_made() -> None:
    for row in CATALOG.environments:
        for choice in row.bases:
            spec = Spec(environment=row.id, base=choice.system.id)
            assert not staleness(CATALOG, spec, lock(CATALOG, spec, lock_ports()))


def test_a_lock_of_another_python_is_up_to_date_too() -> None:
    spec = replace(SPEC, python=Release("3.7"))
    assert not staleness(CATALOG, spec, lock(CATALOG, spec, lock_ports()))


def test_a_changed_spec_makes_the_lock_stale_and_is_named() -> None:
    made = lock(CATALOG, SPEC, lock_ports())
    changes = staleness(CATALOG, replace(SPEC, packages=("six",), apt=("git",)), made)
    assert [str(change) for change in changes] == ["+ spec.apt git", "+ spec.packages six"]


def test_another_name_makes_the_lock_stale_and_is_none_of_an_environment() -> None:
    made = lock(CATALOG, replace(SPEC, name="vision"), lock_ports())
    assert made.name == "vision"
    assert [str(change) for change in staleness(CATALOG, replace(SPEC, name="nlp"), made)] == [
        "~ spec.name vision -> nlp"
    ]
    with pytest.raises(UsageError, match="is the id of an environment"):
        lock(CATALOG, replace(SPEC, name="tf-2.15-cpu"), lock_ports())


def test_another_environment_makes_the_lock_stale() -> None:
    made = lock(CATALOG, SPEC, lock_ports())
    changed = {change.field for change in staleness(CATALOG, Spec(environment="tf-2.15-cpu"), made)}
    assert {"spec.environment", "row.tensorflow"} <= changed


CPU = Spec(environment="tf-2.15-cpu")
SHIPPED = (chosen("numpy", "1.26.4"), chosen("tensorflow-cpu", "2.15.1"))
DAY = date(2025, 3, 1)


def shipping(folder: Path, packages: tuple[Chosen, ...] = SHIPPED, build: tuple[Chosen, ...] = ()) -> ClosureFolder:
    """A folder where the CPU row ships these packages."""
    row = small_row(CPU.environment)
    answer = Answer(base=row.bases[0].system.id, request=request_digest(row_request(row, row.bases[0])))
    closure = Closure(python=row.default_python, answers=(answer,), packages=packages, build=build)
    (folder / f"{row.id}.yaml").write_text(dump_closures(row.id, [closure]), encoding="utf-8")
    return ClosureFolder(folder=folder)


def files(made: Lock, *groups: PackageGroup) -> set[str]:
    return {pin.file for pin in made.packages if not groups or pin.group in groups}


def with_other_release() -> Catalog:
    """The small catalog, where 2.15.0 can be asked for too."""
    row = small_row(CPU.environment)
    other = OtherRelease(
        package=row.framework.package, version=Version("2.15.0"), pythons=row.framework.pythons, advisory=None
    )
    row = replace(row, framework=replace(row.framework, others=(other,)))
    return replace(CATALOG, environments=tuple(row if each.id == row.id else each for each in CATALOG.environments))


def test_a_shipped_closure_is_used_and_nothing_is_resolved(tmp_path: Path) -> None:
    resolver, told = FakeResolver(), list[str]()
    made = lock(CATALOG, CPU, lock_ports(shipped=shipping(tmp_path), resolver=resolver), progress=told.append)
    assert not resolver.asked
    assert files(made) == {each.file for each in SHIPPED}
    assert [pin.name for pin in made.group(PackageGroup.FRAMEWORK)] == ["tensorflow-cpu"]
    assert "packages as shipped with tf-2.15-cpu (as of 2024-06-01)" in told


def test_what_prove_records_is_what_everybody_gets(tmp_path: Path) -> None:
    proving = world(tmp_path, resolver=FakeResolver(needs={"tensorflow-gpu": ["termcolor"]}))
    prove(small_row("tf-1.7-cuda9.0"), Grade.RESOLVED, proving.ports())
    resolver = FakeResolver()
    made = lock(CATALOG, Spec(environment="tf-1.7-cuda9.0"), lock_ports(shipped=proving.closures, resolver=resolver))
    assert not resolver.asked
    assert [pin.name for pin in made.group(PackageGroup.BUILD)] == ["setuptools", "wheel"]
    [closure] = proving.closures.read("tf-1.7-cuda9.0")
    assert files(made, PackageGroup.PACKAGES, PackageGroup.FRAMEWORK) == {each.file for each in closure.packages}


def test_build_tools_are_left_out_where_nothing_is_built(tmp_path: Path) -> None:
    shipped = shipping(tmp_path, build=(chosen("wheel", "0.40"),))
    assert not lock(CATALOG, CPU, lock_ports(shipped=shipped)).group(PackageGroup.BUILD)


def test_own_packages_are_resolved_on_top_of_what_is_shipped(tmp_path: Path) -> None:
    resolver = FakeResolver(versions={"numpy": "2.0"}, needs={"pandas": ["numpy"]})
    spec = replace(CPU, packages=("pandas",))
    made = lock(CATALOG, spec, lock_ports(shipped=shipping(tmp_path), resolver=resolver))
    assert len(resolver.asked) == 1
    assert resolver.asked[0].preferred == ("numpy==1.26.4", "tensorflow-cpu==2.15.1")
    assert [pin.name for pin in made.group(PackageGroup.OWN)] == ["pandas"]
    assert files(made, PackageGroup.FRAMEWORK, PackageGroup.PACKAGES) == {each.file for each in SHIPPED}


def test_an_own_package_that_needs_tensorflow_gets_that_of_the_row(tmp_path: Path) -> None:
    resolver = FakeResolver(needs={"tensorflow-text": ["tensorflow"]})
    spec = replace(CPU, packages=("tensorflow-text",))
    made = lock(CATALOG, spec, lock_ports(shipped=shipping(tmp_path), resolver=resolver))
    assert [pin.name for pin in made.group(PackageGroup.OWN)] == ["tensorflow-text"]
    assert load(dump(made), "envbuilder.lock") == made


def test_a_tensorflow_among_the_own_packages_is_that_of_the_row_and_is_told(tmp_path: Path) -> None:
    told = list[str]()
    spec = replace(CPU, packages=("tensorflow==2.15.1",))
    made = lock(CATALOG, spec, lock_ports(shipped=shipping(tmp_path)), progress=told.append)
    assert not made.group(PackageGroup.OWN)
    assert "tensorflow of `packages:` is tensorflow-cpu 2.15.1 of tf-2.15-cpu" in told


def test_what_is_shipped_for_another_question_is_not_used(tmp_path: Path) -> None:
    spec = replace(SPEC, python=Release("3.7"))
    proving = world(tmp_path)
    prove(small_row(SPEC.environment), Grade.RESOLVED, proving.ports())
    resolver = FakeResolver()
    lock(CATALOG, spec, lock_ports(shipped=proving.closures, resolver=resolver))
    assert [str(asked.python) for asked in resolver.asked] == ["3.7"]


def test_an_upgrade_resolves_as_of_its_day_and_is_recorded(tmp_path: Path) -> None:
    resolver, told = FakeResolver(versions={"tensorflow-cpu": "2.15.1"}), list[str]()
    sources = lock_ports(shipped=shipping(tmp_path), resolver=resolver)
    made = lock(CATALOG, CPU, sources, upgrade=DAY, progress=told.append)
    assert [asked.cutoff for asked in resolver.asked] == [DAY]
    assert "resolving packages as of 2025-03-01" in told
    assert upgraded(made) == DAY
    assert upgraded(load(dump(made), "file")) == DAY
    assert "row.cutoff" not in dict(made.inputs)


def test_an_upgrade_keeps_within_the_bounds_of_the_row() -> None:
    resolver = FakeResolver()
    lock(CATALOG, SPEC, lock_ports(resolver=resolver), upgrade=DAY)
    plain = FakeResolver()
    lock(CATALOG, SPEC, lock_ports(resolver=plain))
    assert replace(resolver.asked[0], cutoff=plain.asked[0].cutoff) == plain.asked[0]


def test_a_lock_that_was_not_upgraded_is_of_no_day() -> None:
    assert upgraded(lock(CATALOG, CPU, lock_ports())) is None


def test_an_upgraded_lock_is_up_to_date_until_the_row_changes() -> None:
    made = lock(CATALOG, CPU, lock_ports(), upgrade=DAY)
    assert not staleness(CATALOG, CPU, made)
    row = replace(small_row(CPU.environment), source_builds=("termcolor",))
    others = tuple(each for each in CATALOG.environments if each.id != row.id)
    moved = replace(CATALOG, environments=(*others, replace(row, cutoff=date(2026, 1, 1))))
    assert [str(change) for change in staleness(moved, CPU, made)] == ["+ row.source_builds termcolor"]


def test_a_lock_whose_day_is_none_is_stale_and_no_crash() -> None:
    made = lock(CATALOG, CPU, lock_ports(), upgrade=DAY)
    spoilt = replace(
        made, inputs=tuple((name, "soon" if value == "2025-03-01" else value) for name, value in made.inputs)
    )
    assert upgraded(spoilt) is None
    assert {change.field for change in staleness(CATALOG, CPU, spoilt)} == {"upgraded", "row.cutoff"}


def test_a_lock_has_what_its_row_ships_or_not(tmp_path: Path) -> None:
    shipped = shipping(tmp_path)
    made = lock(CATALOG, CPU, lock_ports(shipped=shipped))
    assert as_shipped(CATALOG, CPU, made, shipped)
    assert not as_shipped(CATALOG, CPU, made, shipping(tmp_path, SHIPPED[1:]))
    (tmp_path / "tf-2.15-cpu.yaml").unlink()
    assert as_shipped(CATALOG, CPU, made, shipped), "a row that ships nothing has nothing to differ from"


def test_another_patch_release_is_resolved_and_states_its_deviation(tmp_path: Path) -> None:
    resolver = FakeResolver()
    spec = replace(CPU, tensorflow=Version("2.15.0"))
    made = lock(with_other_release(), spec, lock_ports(shipped=shipping(tmp_path), resolver=resolver))
    assert resolver.asked[0].requirements == ("tensorflow-cpu==2.15.0",)
    assert made.framework_version == "2.15.0"
    assert any(each.startswith("TensorFlow is 2.15.0 instead of 2.15.1") for each in made.deviations)
    assert not staleness(with_other_release(), spec, made)
    assert "spec.tensorflow" in {change.field for change in staleness(with_other_release(), CPU, made)}


def test_the_release_of_the_row_may_be_named_and_is_shipped(tmp_path: Path) -> None:
    resolver = FakeResolver()
    spec = replace(CPU, tensorflow=Version("2.15.1"))
    made = lock(with_other_release(), spec, lock_ports(shipped=shipping(tmp_path), resolver=resolver))
    assert not resolver.asked
    assert not made.deviations


def test_a_release_that_the_row_does_not_have_is_told_before_anything_is_looked_for() -> None:
    bases = FakeBases()
    with pytest.raises(UsageError, match=r"does not have TensorFlow 2\.14\.0") as caught:
        lock(with_other_release(), replace(CPU, tensorflow=Version("2.14.0")), lock_ports(bases=bases))
    assert caught.value.hint == "it has 2.15.0, 2.15.1"
    assert not bases.asked


BUILT = replace(
    SPEC,
    base="debian-new",
    packages=("horovod", "six==1.16.0"),
    source_builds=("horovod",),
    build_tools=("cmake", "g++"),
    build_requires=("pybind11<3",),
)


def test_what_own_packages_are_built_with_is_pinned_apart_and_in_no_layer() -> None:
    resolver, os_packages, told = FakeResolver(), FakeOsResolver(), list[str]()
    made = lock(CATALOG, BUILT, replace(lock_ports(resolver=resolver), os_packages=os_packages), progress=told.append)
    assert [pin.name for pin in made.group(PackageGroup.OWN_BUILD)] == ["pybind11", "setuptools", "wheel"]
    assert [pin.name for pin in made.build_os_packages] == ["cmake", "g++"]
    assert not {"cmake", "g++"} & {pin.name for pin in made.os_packages}
    assert not made.group(PackageGroup.BUILD), "no package of the environment is built"
    [asked] = [each for each in resolver.asked if "pybind11<3" in each.requirements]
    assert asked.requirements == ("pybind11<3", "setuptools", "wheel")
    assert asked.cutoff == BUILD_TOOLS_CUTOFF
    assert "six==1.16.0" in asked.preferred, "it is compiled against the versions of the image"
    assert "resolving what horovod is built with" in told
    assert load(dump(made), "file") == made
    assert [pin.name for pin in made.build_stage.os_packages] == sorted(
        pin.name for pin in (*made.os_packages, *made.build_os_packages)
    )


def test_setuptools_of_the_spec_replaces_ours() -> None:
    resolver = FakeResolver()
    lock(CATALOG, replace(BUILT, build_requires=("setuptools<60",)), lock_ports(resolver=resolver))
    [asked] = [each for each in resolver.asked if "setuptools<60" in each.requirements]
    assert asked.requirements == ("setuptools<60", "wheel")
    assert not asked.constraints


def test_a_build_that_is_not_needed_is_told_and_adds_nothing() -> None:
    told: list[str] = []
    made = lock(CATALOG, replace(BUILT, packages=("six==1.16.0",)), lock_ports(), progress=told.append)
    assert "every own package has a wheel: `build_tools` and `build_requires` are not used" in told
    assert not made.group(PackageGroup.OWN_BUILD)
    assert not made.build_os_packages


def test_variables_of_builds_alone_make_a_build_stage_and_are_in_the_lock_only_then() -> None:
    spec = replace(BUILT, build_tools=(), build_requires=(), build_env=(("WITH_GPU", "1"),))
    made = lock(CATALOG, spec, lock_ports())
    assert [pin.name for pin in made.group(PackageGroup.OWN_BUILD)] == ["setuptools", "wheel"]
    assert made.build_env == (("WITH_GPU", "1"),)
    assert load(dump(made), "envbuilder.lock") == made
    told: list[str] = []
    unused = lock(CATALOG, replace(spec, packages=("six==1.16.0",)), lock_ports(), progress=told.append)
    assert "every own package has a wheel: `build_env` is not used" in told
    assert not unused.build_env


def test_a_changed_variable_of_builds_makes_a_lock_stale() -> None:
    spec = replace(BUILT, build_env=(("WITH_GPU", "1"),))
    made = lock(CATALOG, spec, lock_ports())
    changed = replace(spec, build_env=(("WITH_GPU", "0"),))
    assert [str(change) for change in staleness(CATALOG, changed, made)] == ['~ spec.build_env.WITH_GPU "1" -> "0"']
    assert [str(change) for change in compare(made, lock(CATALOG, changed, lock_ports()))] == [
        '~ build_env.WITH_GPU "1" -> "0"'
    ]


def test_without_build_tools_own_packages_are_built_as_before() -> None:
    made = lock(CATALOG, replace(BUILT, build_tools=(), build_requires=()), lock_ports())
    assert [pin.name for pin in made.group(PackageGroup.BUILD)] == ["setuptools", "wheel"]
    assert not made.has_build_stage


def test_build_tools_make_a_lock_stale() -> None:
    made = lock(CATALOG, BUILT, lock_ports())
    assert not staleness(CATALOG, BUILT, made)
    changed = replace(BUILT, build_tools=("g++",), build_requires=())
    assert {change.field for change in staleness(CATALOG, changed, made)} == {
        "spec.build_tools", "spec.build_requires",
    }  # fmt: skip


def test_the_build_stage_of_the_lock_before_is_kept() -> None:
    before = lock(CATALOG, BUILT, lock_ports())
    before = replace(before, base=replace(before.base, digest=f"sha256:{'0' * 64}"))
    os_packages = FakeOsResolver()
    again = lock(CATALOG, BUILT, replace(lock_ports(), os_packages=os_packages, kept=before))
    assert again.build_os_packages == before.build_os_packages
    assert not os_packages.asked

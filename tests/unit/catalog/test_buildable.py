"""Which environments can be built with what is available, without asking anybody."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envbuilder.catalog.buildable import (
    Buildability,
    InstalledPython,
    Inventory,
    PackedPython,
    buildable,
    each_base,
    nearest_buildable,
    on_base,
)
from envbuilder.catalog.environments import BaseKind, Environment
from envbuilder.catalog.selection import find
from envbuilder.core.versions import Release
from tests.fakes.catalogs import real_catalog

CATALOG = real_catalog()
OLD_PYTHON = PackedPython(version=Release("3.6.15"), glibc=Release("2.17"))
NEW_LIBC = PackedPython(version=Release("3.6.15"), glibc=Release("2.35"))
ARCHIVES = frozenset(archive.id for archive in CATALOG.archives.archives)
PUBLISHERS = frozenset(publisher.id for publisher in CATALOG.archives.publishers)


def row(name: str) -> Environment:
    return find(CATALOG, name)


def test_no_gpu_environment_depends_on_a_withdrawn_base_alone() -> None:
    ready = Inventory(pythons=(OLD_PYTHON,), standalone=Buildability.YES, archives=ARCHIVES)
    assert not [each.id for each in CATALOG.environments if each.cuda and _verdict(each, ready) is not Buildability.YES]


def test_an_archive_that_is_not_here_may_be_downloaded_once_its_license_is_accepted() -> None:
    mirror = Inventory(standalone=Buildability.YES)
    answer = buildable(row("tf-2.3-cuda10.1"), replace(mirror, unaccepted=PUBLISHERS))
    assert (answer.verdict, answer.base) == (Buildability.UNKNOWN, "debian-bookworm")
    [reason] = answer.reasons
    assert reason.startswith("cuda-10.1.243-runfile must be downloaded from nvidia-developer-download,")
    assert reason.endswith("and NVIDIA's license of the libraries must be accepted")
    assert "--accept-nvidia-eula" in answer.hint
    assert "--publisher NAME=PLACE" in answer.hint
    accepted = buildable(row("tf-2.3-cuda10.1"), mirror)
    assert (accepted.verdict, "license" in accepted.reasons[0]) == (Buildability.UNKNOWN, False)


def test_an_archive_that_is_here_still_needs_its_license_accepted() -> None:
    here = Inventory(standalone=Buildability.YES, archives=ARCHIVES)
    assert _verdict(row("tf-2.3-cuda10.1"), here) is Buildability.YES
    answer = buildable(row("tf-2.3-cuda10.1"), replace(here, unaccepted=PUBLISHERS))
    assert answer.verdict is Buildability.UNKNOWN
    assert answer.hint == "read the license, then build with --accept-nvidia-eula"


def test_a_withdrawn_base_is_named_with_the_day_since_which_it_is_gone() -> None:
    answer = on_base(row("tf-2.3-cuda10.1"), row("tf-2.3-cuda10.1").bases[-1], Inventory())
    image = "nvidia/cuda:10.1-cudnn7-runtime-ubuntu18.04"
    assert answer.reasons == (f"base image {image} is no longer published (since 2023-06-30)",)
    assert "--registry-mirror" in answer.hint
    assert "--bundle" in answer.hint


def test_a_withdrawn_base_that_is_on_this_machine_can_be_used() -> None:
    here = Inventory(bases=frozenset({"nvidia-cuda-10.1-cudnn7"}))
    answer = on_base(row("tf-2.3-cuda10.1"), row("tf-2.3-cuda10.1").bases[-1], here)
    assert (answer.verdict, answer.reasons, answer.hint) == (Buildability.YES, (), "")


def test_a_mirror_that_was_named_may_have_it_and_is_not_suggested_again() -> None:
    mirror = Inventory(registry_mirror="mirror.example:5000")
    answer = on_base(row("tf-2.3-cuda10.1"), row("tf-2.3-cuda10.1").bases[-1], mirror)
    assert answer.verdict is Buildability.UNKNOWN
    assert "mirror.example:5000" in answer.reasons[0]
    assert "--registry-mirror" not in answer.hint


def test_an_old_interpreter_must_be_in_the_cache() -> None:
    cpu = row("tf-1.7-cpu")
    assert _verdict(cpu, Inventory()) is Buildability.NO
    assert "envbuilder python pack 3.6" in buildable(cpu, Inventory()).hint
    assert _verdict(cpu, Inventory(pythons=(OLD_PYTHON,))) is Buildability.YES
    assert _verdict(cpu, Inventory(pythons=(PackedPython(version=Release("3.7.1"), glibc=Release("2.17")),))) is (
        Buildability.NO
    )


def test_an_interpreter_for_a_newer_c_library_does_not_help_an_old_base() -> None:
    here = Inventory(bases=frozenset({"nvidia-cuda-9.0-cudnn7"}), pythons=(NEW_LIBC,))
    answer = on_base(row("tf-1.7-cuda9.0"), row("tf-1.7-cuda9.0").bases[-1], here)
    assert answer.verdict is Buildability.NO
    assert answer.reasons == ("the archive of Python 3.6 in the cache needs glibc 2.35, the base has 2.23",)
    assert "glibc 2.23 or older" in answer.hint
    assert _verdict(row("tf-1.7-cuda9.0"), Inventory(bases=here.bases, pythons=(NEW_LIBC, OLD_PYTHON))) is (
        Buildability.YES
    )


@pytest.mark.parametrize("source", Buildability)
def test_a_newer_interpreter_depends_on_where_standalone_builds_come_from(source: Buildability) -> None:
    assert _verdict(row("tf-2.3-cpu"), Inventory(standalone=source)) is source


def test_a_base_that_may_be_gone_is_replaced_by_one_that_is_there() -> None:
    own = row("tf-2.10-cuda11.2")
    answers = each_base(replace(own, bases=own.bases[::-1]), Inventory())
    assert [each.verdict for each in answers].count(Buildability.YES) == 1
    assert answers[0].verdict is Buildability.UNKNOWN
    best = buildable(replace(own, bases=own.bases[::-1]), Inventory())
    assert (best.verdict, best.base) == (Buildability.YES, "debian-bullseye")


def test_a_registry_image_needs_an_engine_for_its_os_packages() -> None:
    bare = Inventory(engine=False)
    tree, image = each_base(row("tf-2.15-cuda12.2"), bare)
    assert (image.verdict, tree.verdict) == (Buildability.NO, Buildability.YES)
    assert "requires a container engine" in image.reasons[0]
    with_engine = each_base(row("tf-2.15-cuda12.2"), Inventory())
    assert [each.verdict for each in with_engine] == [Buildability.YES, Buildability.YES]


def test_a_debian_base_needs_an_archive_or_a_tree() -> None:
    cpu = row("tf-2.16-cpu")
    bare = Inventory(distributions=frozenset())
    assert _verdict(cpu, bare) is Buildability.NO
    assert "--debian-mirror" in buildable(cpu, bare).hint
    assert _verdict(cpu, Inventory(distributions=frozenset(), bases=frozenset({"debian-bullseye"}))) is Buildability.YES


def test_an_old_python_comes_from_ubuntu_where_its_archive_is_configured() -> None:
    both = Inventory(distributions=frozenset({BaseKind.DEBIAN, BaseKind.UBUNTU}))
    found = buildable(row("tf-1.7-cpu"), both)
    assert (found.verdict, found.base) == (Buildability.YES, "ubuntu-bionic")
    without = each_base(row("tf-1.7-cpu"), Inventory())[1]
    [reason] = without.reasons
    assert (
        reason
        == "a base of Ubuntu packages needs an archive of Ubuntu, and this host has none in its apt configuration"
    )
    assert without.hint == "use --ubuntu-mirror URL, or `export ENVBUILDER_UBUNTU_MIRROR=URL`"


def test_the_nearest_are_the_cpu_environment_of_the_release_and_the_next_gpu_environment() -> None:
    asked = row("tf-1.7-cuda9.0")
    assert _nearest(asked, Inventory()) == ["tf-2.5-cuda11.2"]
    assert _nearest(asked, Inventory(pythons=(OLD_PYTHON,))) == ["tf-1.7-cpu", "tf-2.5-cuda11.2"]
    assert _nearest(asked, Inventory(standalone=Buildability.YES)) == ["tf-2.4-cuda11.0"]
    assert _nearest(row("tf-2.8-cuda11.2"), Inventory()) == ["tf-2.8-cpu", "tf-2.9-cuda11.2"]
    assert _nearest(row("tf-1.7-cpu"), Inventory()) == ["tf-2.5-cpu"]


def test_where_nothing_is_sure_to_be_built_what_may_be_is_near() -> None:
    bare = Inventory(distributions=frozenset(), registry_mirror="mirror.example")
    assert _nearest(row("tf-1.7-cuda9.0"), Inventory(distributions=frozenset())) != []
    only_old = replace(
        CATALOG, environments=tuple(each for each in CATALOG.environments if each.id.startswith("tf-1.1"))
    )
    assert [each.id for each in nearest_buildable(only_old, row("tf-1.13-cuda10.0"), bare)] == ["tf-1.14-cuda10.0"]


def test_nothing_that_cannot_be_built_is_near() -> None:
    for each in CATALOG.environments:
        for near in nearest_buildable(CATALOG, each, Inventory()):
            assert near.id != each.id
            assert _verdict(near, Inventory()) is not Buildability.NO


def _python(program: str, glibc: str) -> InstalledPython:
    return InstalledPython(version=Release("3.6"), program=program, glibc=Release(glibc))


def test_only_an_interpreter_that_runs_on_the_base_is_recommended() -> None:
    new, old = _python("/opt/new/bin/python3.6", "2.37"), _python("/opt/old/bin/python3.6", "2.17")
    asked = row("tf-1.7-cpu")
    debian = next(choice for choice in asked.bases if choice.system.id == "debian-bookworm")
    both = on_base(asked, debian, Inventory(installed=(new, old)))
    assert (both.command, both.verdict) == ("envbuilder python pack /opt/old/bin/python3.6", Buildability.UNKNOWN)
    alone = on_base(asked, debian, Inventory(installed=(new,)))
    assert (alone.command, alone.verdict) == ("", Buildability.NO)
    assert "/opt/new/bin/python3.6 needs glibc 2.37, the base has 2.36" in alone.reasons[0]
    assert alone.hint.endswith("is installed with glibc 2.36 or older")


@pytest.mark.parametrize("needed", ["2.5", "2.17", "2.23", "2.27", "2.28", "2.31", "2.35", "2.36", "2.38"])
def test_no_hint_for_any_base_names_an_interpreter_that_is_too_new_for_it(needed: str) -> None:
    found = _python("/opt/found/bin/python3.6", needed)
    for each in CATALOG.environments:
        for choice in each.bases:
            answer = on_base(each, choice, Inventory(installed=(found,)))
            if "/opt/found" in f"{answer.hint} {answer.command}":
                assert found.glibc <= choice.system.glibc


def test_every_answer_but_yes_has_a_reason_and_a_hint() -> None:
    for each in CATALOG.environments:
        for answer in each_base(each, Inventory()):
            assert bool(answer.reasons) == bool(answer.hint) == (answer.verdict is not Buildability.YES)


def _verdict(environment: Environment, inventory: Inventory) -> Buildability:
    return buildable(environment, inventory).verdict


def _nearest(environment: Environment, inventory: Inventory) -> list[str]:
    return [near.id for near in nearest_buildable(CATALOG, environment, inventory)]
